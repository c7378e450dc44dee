"""What every replica of this node may read: the system's libraries, and Python with ours."""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import worker_runtime

# Libraries, and what they read to find one another, names, time zones and certificates.
SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/opt/nvidia"),
    *("/proc", "/sys"),
    *(
        f"/etc/{name}"
        for name in (
            *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone"),
            *("passwd", "group", "nsswitch.conf", "os-release", "mime.types", "protocols"),
            *("hosts", "host.conf", "resolv.conf", "gai.conf", "services", "ssl", "pki"),
            *("ca-certificates", "ca-certificates.conf", "OpenCL", "vulkan", "nvidia"),
            # what pip asks for when it makes an environment
            *("debian_version", "lsb-release", "redhat-release", "system-release", "pip.conf"),
            *("alpine-release", "arch-release", "SuSE-release", "xdg/pip"),
        )
    ),
)
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
GPUS: Final = ("nvidia*", "dri", "kfd", "accel")  # below /dev
SEARCHED: Final = (
    *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "PIP_CONFIG_FILE", "PIP_CERT"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
PACKAGES: Final = ("find-links", "index-url", "extra-index-url", "cert")  # of pip's configuration
PIP_TIMEOUT_S: Final = 30
SOURCE: Final = Path(worker_runtime.__file__).parents[1]


def programs(environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Folders to read, and those of which only the names may be read.

    `environment` is the machine's, never a deployment's.
    """
    read = [*SYSTEM, sys.prefix, sys.base_prefix]
    listed: list[str] = []
    for name in SEARCHED:
        read += filter(os.path.isabs, environment.get(name, "").split(os.pathsep))
    started_in = Path.cwd()  # put on the path by Python, and by libraries once more
    for entry in map(Path, sys.path):
        if entry.is_dir() and entry.resolve() not in (started_in, SOURCE):
            read.append(str(entry))
    if SOURCE.name in ("site-packages", "dist-packages"):
        read.append(str(SOURCE))
    else:
        # a checkout: it may hold a data folder, keys and much else
        listed.append(str(SOURCE))
        read.append(str(SOURCE / worker_runtime.__name__))
        read += [str(folder) for folder in SOURCE.glob("*.egg-info")]
    return sorted({os.path.realpath(path) for path in read} | set(read)), listed


def package_folders(environment: Mapping[str, str]) -> list[str]:
    """Folders of this machine from which pip is configured to take packages, and its certificates.

    Of ``requirements.txt`` in a replica; [] where there is no pip, or none are named. Blocks.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PIP_TIMEOUT_S,
        check=False,
    )
    found = set()
    for line in done.stdout.splitlines():
        name, _, value = line.partition("=")
        if name.rpartition(".")[2] not in PACKAGES:
            continue
        for word in str(ast.literal_eval(value)).split():  # pip writes it as Python does
            place = Path(word.removeprefix("file://"))
            if place.is_absolute() and place.exists():
                # an index links to files beside it
                found.add(str(place.parent if place.name == "simple" else place))
    return sorted(found)


def gpu_devices(devices: Path = Path("/dev")) -> list[str]:
    return sorted(str(found) for pattern in GPUS for found in devices.glob(pattern))


def has_nvidia(devices: list[str]) -> bool:
    return any(Path(device).name.startswith("nvidia") for device in devices)


def gpu_groups(devices: list[str]) -> tuple[int, ...]:
    """Groups that may use them: a user of its own needs them, too. Never root's."""
    files = [
        file
        for device in map(Path, devices)
        for file in (device.iterdir() if device.is_dir() else (device,))
    ]
    return tuple(sorted({file.stat().st_gid for file in files} - {0}))

"""Writes the lock files: every package with its version and the hashes of all its files.

`python deploy/lock.py` (`make lock`) asks PyPI through uv. One resolution holds for Python 3.11 and
newer on every platform, by markers; no file names a registry. The lists stay readable, in
requirements*.txt; `deploy/install-packages` installs what is written here, and nothing else.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST_PYTHON = "3.11"
# Lists that do not share an environment with requirements.txt, or stand on their own.
ALONE = ("requirements-node", "requirements-azure", "requirements-audit")

# torch for CPUs, from PyTorch's own index; Linux on x86-64, CPython 3.11, 3.12, 3.13. PyPI has the
# one for CUDA. Two locks, since pip prefers a file whose hash the index tells to one on a disk.
TORCH_FOR_CPUS = {
    "torch==2.13.0": (
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
        "4ca4a9394b0c771238a4f73590fdbbc4debad85ed0fa63d026ae1b085da7d6e2",
        "3fbf9c9d1f3c10c2d59d04aca426dee9ccc6ceb32d255c61e93acc3b4f75fae6",
    )
}
# torch for CUDA, and what only that needs: 2.5 GB.
CUDA = re.compile(r"(torch|cuda-\S+|nvidia-(?!ml-py=)\S+|triton)==")

Blocks = dict[str, str]  # "name==version ; marker" to the requirement with its hashes


def main() -> None:
    base = _resolved("requirements")
    _write("requirements", [v for k, v in base.items() if not CUDA.match(k)])
    _write("requirements-cuda", [v for k, v in base.items() if CUDA.match(k)])
    _write("requirements-cpu", [_torch_for_cpus(next(k for k in base if k.startswith("torch==")))])
    dev = _resolved("requirements-dev", constraints=base)
    _write("requirements-dev", [v for k, v in dev.items() if k not in base])
    for name in ALONE:
        _write(name, list(_resolved(name).values()))


def _resolved(name: str, constraints: Blocks | None = None) -> Blocks:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pinned:
        pinned.writelines(f"{requirement}\n" for requirement in constraints or {})
        pinned.flush()
        command = [sys.executable, "-m", "uv", "pip", "compile", f"{name}.txt", "--universal"]
        command += [
            "--python-version",
            OLDEST_PYTHON,
            "--generate-hashes",
            "--quiet",
            "--no-header",
        ]
        command += ["--no-annotate", "--no-config", "--constraints", pinned.name]
        # why without UV_*: what one machine is told about registries must not show in the files
        environment = {k: v for k, v in os.environ.items() if not k.startswith("UV_")}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{name}.txt cannot be resolved; uv says why above")
    blocks = re.findall(r"^\S.*(?:\n    .*)*\n", done.stdout, re.MULTILINE)
    return {block.partition(" \\")[0]: block for block in blocks}


def _torch_for_cpus(requirement: str) -> str:
    if requirement not in TORCH_FOR_CPUS:
        sys.exit(f"{requirement}: write the SHA-256 of its CPU builds into {Path(__file__).name}")
    hashes = " \\\n".join(f"    --hash=sha256:{one}" for one in TORCH_FOR_CPUS[requirement])
    return f"{requirement}+cpu \\\n{hashes}\n"


def _write(name: str, blocks: list[str]) -> None:
    head = f"# Written by `make lock` from {_source(name)}: change that, not this.\n"
    (ROOT / f"{name}.lock").write_text(head + "".join(blocks))


def _source(name: str) -> str:
    return f"{name.removesuffix('-cuda').removesuffix('-cpu')}.txt"


if __name__ == "__main__":
    main()

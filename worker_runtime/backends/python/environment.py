"""Which Python runs a model: the server's own, or one that the model brings."""

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from worker_runtime.backends.base import LoadSpec
from worker_runtime.errors import LoadFailed, Problem

logger = logging.getLogger(__name__)
EXECUTION_ENV = "EXECUTION_ENV_PATH"
_MODEL_DIRECTORY = "$$TRITON_MODEL_DIRECTORY"
_INSTALL_TIMEOUT_S = 1800


def interpreter(spec: LoadSpec) -> tuple[Path | None, dict[str, str]]:
    """The interpreter (None: the server's) and the variables it needs. Raises LoadFailed.

    EXECUTION_ENV_PATH names a conda-pack archive or an unpacked environment, as in Triton, or a
    virtual environment; without it a ``requirements.txt`` beside ``model.py`` or beside
    ``config.pbtxt`` is installed into an environment that is kept for the next time.
    """
    given = spec.parameters.get(EXECUTION_ENV, "")
    if given:
        root = _unpacked(_located(given, spec), spec)
    else:
        wanted = _requirements(spec)
        if wanted is None:
            return None, {}
        root = _installed(wanted, spec)
    python = root / "bin" / "python3"
    if not python.exists():
        python = root / "bin" / "python"
    if not python.exists():
        raise _failed(spec, f"the environment {root} has no bin/python")
    libraries = os.pathsep.join(
        [str(root / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH", "")])]
    )
    return python, {
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "LD_LIBRARY_PATH": libraries,
        "VIRTUAL_ENV": str(root),
    }


def _located(given: str, spec: LoadSpec) -> Path:
    path = Path(given.replace(_MODEL_DIRECTORY, str(spec.path.parent)))
    if not path.exists():
        message = f"Failed to get the canonical path for {path}."
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name), "Internal")
    return path


def surroundings(own: Mapping[str, str], code: Path) -> dict[str, str]:
    """Variables of a model's process: the server's, its environment's, a path to ``code``."""
    merged = {**os.environ, **own}
    path = merged.get("PYTHONPATH", "")
    merged["PYTHONPATH"] = os.pathsep.join([str(code), *([path] if path else [])])
    return merged


def cache_root() -> Path:
    """Where environments are kept: $XDG_CACHE_HOME or ~/.cache, of this user only."""
    base = os.environ.get("XDG_CACHE_HOME", "") or str(Path.home() / ".cache")
    root = Path(base) / "shoal" / "python-environments"
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    return root


def _unpacked(path: Path, spec: LoadSpec) -> Path:
    """An archive is unpacked once per content (told by size and time); a directory is used."""
    if path.is_dir():
        return path
    about = path.stat()
    key = hashlib.sha256(f"{path.resolve()}:{about.st_size}:{about.st_mtime_ns}".encode())
    target = cache_root() / f"archive-{key.hexdigest()[:24]}"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=cache_root()) as folder:
        fresh = Path(folder) / "environment"
        try:
            with tarfile.open(path) as archive:
                archive.extractall(fresh, filter="tar")
        except (OSError, tarfile.TarError) as error:
            raise _failed(spec, f"{EXECUTION_ENV} '{path}' cannot be unpacked: {error}") from error
        unpack = fresh / "bin" / "conda-unpack"
        if unpack.exists():
            _run([str(fresh / "bin" / "python"), str(unpack)], spec)
        _publish(fresh, target)
    return target


def _requirements(spec: LoadSpec) -> Path | None:
    for folder in (spec.path, spec.path.parent):
        if (folder / "requirements.txt").is_file():
            return folder / "requirements.txt"
    return None


def _installed(requirements: Path, spec: LoadSpec) -> Path:
    """A virtual environment with ``requirements`` and numpy, made once per content."""
    text = requirements.read_bytes()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(version.encode() + b"\0" + text).hexdigest()[:24]
    target = cache_root() / f"requirements-{key}"
    if (target / ".complete").exists():
        return target
    logger.info("model '%s': installing %s", spec.name, requirements)
    # why in place: a virtual environment cannot be moved; what is half made is made again.
    if target.exists():
        shutil.rmtree(target)
    _run([sys.executable, "-m", "venv", str(target)], spec)
    pip = [str(target / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    _run([*pip, "numpy", "-r", str(requirements)], spec)
    (target / ".complete").touch()
    return target


def _publish(fresh: Path, target: Path) -> None:
    try:
        fresh.rename(target)
    except OSError:
        if not target.exists():  # another process may have been quicker
            raise


def _run(command: list[str], spec: LoadSpec) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_INSTALL_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(spec, f"the environment could not be made: {error}") from error
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-10:])
        raise _failed(spec, f"the environment could not be made:\n{last}")


def _failed(spec: LoadSpec, text: str) -> LoadFailed:
    message = f"model '{spec.name}': {text}"
    return LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name), "Internal")

"""Which Python runs a model: the server's own, or one that the model brings.

``python -m worker_runtime.backends.python.environment REQUIREMENTS FOLDER`` builds one ahead, for
servers that are started with ``--backend-config=python,environments=FOLDER``.
"""

import contextlib
import fcntl
import hashlib
import itertools
import logging
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy

from worker_runtime.backends.base import LoadSpec
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.files.inside import inside
from worker_runtime.types.code import ENVIRONMENT, PACKAGES

logger = logging.getLogger(__name__)
EXECUTION_ENV = "EXECUTION_ENV_PATH"
_MODEL_DIRECTORY = "$$TRITON_MODEL_DIRECTORY"
CONFIG = "config.pbtxt"
_COMPLETE = ".complete"
_SHARED_ENVIRONMENT = "pb_exec_env_model.py.tar.gz"
_INSTALL_TIMEOUT_S = 1800
_LAST_LINES = 20
# Of the backend: folders of environments that were built ahead, which are only read.
_BUILT = "environments"
# Where pip is told what uv does not read.
_PIP_FILES = ("~/.config/pip/pip.conf", "~/.pip/pip.conf", "/etc/pip.conf", "/etc/xdg/pip/pip.conf")


def interpreter(spec: LoadSpec) -> tuple[Path | None, dict[str, str]]:
    """The interpreter (None: the server's) and the variables it needs. Raises LoadFailed.

    EXECUTION_ENV_PATH names a conda-pack archive or an unpacked environment, as in Triton, or a
    virtual environment; without it a ``requirements.txt`` beside ``model.py`` or beside
    ``config.pbtxt`` is installed into an environment that is kept for the next time. A shared
    backend may bring either, the first under Triton's name for it.
    """
    given = spec.parameters.get(EXECUTION_ENV, "")
    if given:
        spec.code.demand(ENVIRONMENT, spec.name, CONFIG, f"names the environment {given}")
        root = _unpacked(_located(given, spec), spec)
    elif spec.shared_code is not None and (spec.shared_code / _SHARED_ENVIRONMENT).is_file():
        spec.code.demand(ENVIRONMENT, spec.name, _SHARED_ENVIRONMENT, "is a Python environment")
        root = _unpacked(spec.shared_code / _SHARED_ENVIRONMENT, spec)
    else:
        wanted = _requirements(spec)
        if wanted is None:
            return None, {}
        spec.code.demand(PACKAGES, spec.name, wanted.name, "names packages for pip")
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
    model = spec.path.parent
    path = Path(given.replace(_MODEL_DIRECTORY, str(model)))
    if spec.code.limited:  # in the repository, as Triton's own placeholder leads to
        name = os.path.relpath(path if path.is_absolute() else model / path, model.parent)
        return inside(model.parent, name, EXECUTION_ENV, directories=True)
    if not path.exists():
        message = f"Failed to get the canonical path for {path}."
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name), "Internal")
    return path


def process_environment(own: Mapping[str, str], code: Path) -> dict[str, str]:
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
    key = _key(str(path.resolve()), str(about.st_size), str(about.st_mtime_ns))

    def unpack(target: Path) -> None:
        try:
            with tarfile.open(path) as archive:
                archive.extractall(target, filter="tar")
        except (OSError, tarfile.TarError) as error:
            raise _failed(spec, f"{EXECUTION_ENV} '{path}' cannot be unpacked: {error}") from error
        script = target / "bin" / "conda-unpack"
        if script.exists():
            _run([str(target / "bin" / "python"), str(script)], target, spec)

    return _made_once(f"archive-{key}", unpack)


def _requirements(spec: LoadSpec) -> Path | None:
    for folder in (spec.path, spec.path.parent, *filter(None, [spec.shared_code])):
        if (folder / "requirements.txt").is_file():
            return folder / "requirements.txt"
    return None


def _installed(requirements: Path, spec: LoadSpec, root: Path | None = None) -> Path:
    """A virtual environment with ``requirements``, made once per content and Python, in ``root``.

    It sees the server's numpy until a requirement brings another: nothing is fetched for that.
    """
    home = Path(numpy.__file__).parent
    key = _key(sys.version, str(home), numpy.__version__, requirements.read_text(errors="replace"))

    def install(target: Path) -> None:
        logger.info("model '%s': installing %s", spec.name, requirements)
        # paths in it are relative to it; what is built ahead has none, and no code of a model near
        folder = root or requirements.parent
        _run([sys.executable, "-m", "venv", str(target)], folder, spec)
        _run([*_installer(target / "bin" / "python"), "-r", str(requirements)], folder, spec)
        _share(home, target)

    name = f"requirements-{key}"
    for built in filter(None, spec.backend_settings.get(_BUILT, "").split(os.pathsep)):
        if (Path(built) / name / _COMPLETE).exists():
            return Path(built) / name
    return _made_once(name, install, root)


def _installer(python: Path) -> list[str]:
    """uv where it is there and pip's settings, which it does not read, say nothing; else pip."""
    uv = shutil.which("uv")
    told = any(name.startswith("PIP_") for name in os.environ)
    if uv and not told and not any(Path(file).expanduser().exists() for file in _PIP_FILES):
        return [uv, "pip", "install", "--python", str(python), "--no-progress"]
    pip = [str(python), "-m", "pip", "install", "--no-input", "--progress-bar=off"]
    return [*pip, "--disable-pip-version-check", "--no-warn-script-location"]


def _share(package: Path, target: Path) -> None:
    """Let an environment import ``package`` and its libraries, after all that it has itself."""
    shared = target / "shared"
    shared.mkdir()
    for found in (package, package.with_name(f"{package.name}.libs")):
        if found.exists():
            (shared / found.name).symlink_to(found)
    (site,) = (target / "lib").glob("python3*/site-packages")
    (site / "shoal-shared.pth").write_text(f"{shared}\n")


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _made_once(name: str, make: Callable[[Path], None], root: Path | None = None) -> Path:
    """The cached folder ``name``; whoever comes first makes it, others wait for that.

    Why in place: environments know where they are. What was left half made is made again.
    """
    root = root or cache_root()
    target, done = root / name, root / name / _COMPLETE
    if done.exists():
        return target
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            if target.exists():
                shutil.rmtree(target)
            target.mkdir()
            try:
                make(target)
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                raise
            done.touch()
    return target


def _run(command: list[str], folder: Path, spec: LoadSpec) -> None:
    """What it says is in the log as it comes; the end of that is the reason when it fails."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            process_group=0,
        )
    except OSError as error:
        raise _failed(spec, f"its environment could not be made: {error}") from error
    late = threading.Event()

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def end() -> None:
        late.set()
        kill()

    spec.attempt.on_give_up(kill)
    timer = threading.Timer(_INSTALL_TIMEOUT_S, end)
    timer.daemon = True
    timer.start()
    lines: deque[str] = deque(maxlen=_LAST_LINES)
    try:
        with process:
            assert process.stdout is not None  # noqa: S101 # asked for above
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                sys.stderr.write(line)
    finally:
        timer.cancel()
        spec.attempt.forget(kill)
    if late.is_set():
        lines.append(f"it was ended after {_INSTALL_TIMEOUT_S} s")
    if process.returncode:
        last = "\n".join(_errors(lines) or lines)
        raise _failed(spec, f"its environment could not be made:\n{last}")


def _errors(lines: Iterable[str]) -> list[str]:
    """From the first line that speaks of an error."""
    return list(itertools.dropwhile(lambda line: "error" not in line.lower(), lines))


def _failed(spec: LoadSpec, text: str) -> LoadFailed:
    message = f"model '{spec.name}': {text}"
    return LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name), "Internal")


def main(arguments: Sequence[str]) -> int:
    """Build the environment of one list: 0, or 1 with pip's words."""
    requirements, root = map(Path, arguments)
    spec = LoadSpec(requirements.parent.name, 0, requirements.parent, "", {}, (), 1)
    root.mkdir(parents=True, exist_ok=True)
    try:
        _installed(requirements, spec, root)
    except LoadFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Environments of Python models: made once, made again when half made, told when they fail."""

import json
import os
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.python import environment
from worker_runtime.errors import LoadFailed

_PACKAGE = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "tiny-extra"
version = "1.0"
"""

# The smallest build backend: a wheel with one module, made without fetching anything.
_BACKEND = """
import zipfile


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "tiny_extra-1.0-py3-none-any.whl"
    about = "tiny_extra-1.0.dist-info/"
    with zipfile.ZipFile(f"{wheel_directory}/{name}", "w") as wheel:
        wheel.writestr("tiny_extra.py", "VALUE = 41\\n")
        wheel.writestr(
            about + "METADATA", "Metadata-Version: 2.1\\nName: tiny-extra\\nVersion: 1.0\\n"
        )
        wheel.writestr(
            about + "WHEEL",
            "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        )
        wheel.writestr(about + "RECORD", "")
    return name
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path / "cache" / "shoal" / "python-environments"


def model(tmp_path: Path, requirements: str | None = None, **parameters: str) -> LoadSpec:
    version = tmp_path / "models" / "m" / "1"
    version.mkdir(parents=True, exist_ok=True)
    if requirements is not None:
        (version / "requirements.txt").write_text(requirements)
    return LoadSpec(
        name="m",
        version=1,
        path=version,
        filename="model.py",
        parameters=parameters,
        placements=(),
        cores=1,
    )


def package(version: Path) -> None:
    folder = version / "extra"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(_PACKAGE)
    (folder / "backend.py").write_text(_BACKEND)


def asked(python: Path, code: str) -> str:
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_model_without_wishes_gets_the_servers_python(tmp_path: Path) -> None:
    assert environment.interpreter(model(tmp_path)) == (None, {})


def test_requirements_are_installed_once_for_all_who_ask(
    tmp_path: Path, own_cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = model(tmp_path, "./extra\n")
    package(spec.path)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(environment.interpreter, [spec] * 3))
    assert capfd.readouterr().err.count("Successfully installed tiny-extra") == 1
    pythons = {python for python, _ in found}
    assert len(pythons) == 1
    (python,) = pythons
    assert python is not None
    told = json.loads(
        asked(
            python,
            "import json, numpy, tiny_extra; "
            "print(json.dumps([tiny_extra.VALUE, numpy.arange(3).tolist()]))",
        )
    )
    assert told == [41, [0, 1, 2]]
    made = (own_cache / python.parent.parent.name / ".complete").stat().st_mtime_ns
    assert environment.interpreter(spec)[0] == python
    assert (own_cache / python.parent.parent.name / ".complete").stat().st_mtime_ns == made
    variables = found[0][1]
    assert variables["PATH"].startswith(f"{python.parent}{os.pathsep}")


def test_what_cannot_be_installed_is_told_and_leaves_nothing(
    tmp_path: Path, own_cache: Path
) -> None:
    spec = model(tmp_path, "no-such-package-of-shoal==1\n")
    with pytest.raises(LoadFailed, match="No matching distribution found for no-such-package"):
        environment.interpreter(spec)
    assert [path.name for path in own_cache.iterdir() if path.is_dir()] == []


def test_a_half_made_environment_is_made_again(tmp_path: Path, own_cache: Path) -> None:
    spec = model(tmp_path, "# nothing\n")
    python, _ = environment.interpreter(spec)
    assert python is not None
    target = python.parent.parent
    (target / ".complete").unlink()
    (target / "bin" / "python3").unlink()
    again, _ = environment.interpreter(spec)
    assert again == python
    assert again.exists()


def test_archives_are_unpacked_once_and_again_when_they_change(
    tmp_path: Path, own_cache: Path
) -> None:
    inside = tmp_path / "inside" / "bin"
    inside.mkdir(parents=True)
    (inside / "python3").write_text("#!/bin/sh\necho packed\n")
    (inside / "python3").chmod(0o755)
    spec = model(tmp_path, EXECUTION_ENV_PATH="$$TRITON_MODEL_DIRECTORY/env.tar.gz")
    archive = spec.path.parent / "env.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        made.add(inside, "bin")
    python, variables = environment.interpreter(spec)
    assert python is not None
    assert asked(python, "") == "packed"
    assert variables["LD_LIBRARY_PATH"].split(os.pathsep)[0] == str(python.parent.parent / "lib")
    assert environment.interpreter(spec)[0] == python
    os.utime(archive, ns=(1, 1))
    assert environment.interpreter(spec)[0] != python


def test_a_folder_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").touch()
    spec = model(tmp_path, EXECUTION_ENV_PATH=str(tmp_path / "env"))
    assert environment.interpreter(spec)[0] == tmp_path / "env" / "bin" / "python"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "Failed to get the canonical path for"),
        (b"no archive", "cannot be unpacked"),
    ],
)
def test_what_is_no_environment_is_told(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "env.tar.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LoadFailed, match=words):
        environment.interpreter(model(tmp_path, EXECUTION_ENV_PATH=str(path)))


def test_archives_stay_inside_their_folder(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "env.tar.gz"
    (tmp_path / "evil").write_text("x")
    with tarfile.open(path, "w:gz") as made:
        made.add(tmp_path / "evil", "../../evil-outside")
    with pytest.raises(LoadFailed, match="cannot be unpacked"):
        environment.interpreter(model(tmp_path, EXECUTION_ENV_PATH=str(path)))
    assert not list(tmp_path.rglob("evil-outside"))


def test_an_environment_without_python_is_told(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    with pytest.raises(LoadFailed, match="has no bin/python"):
        environment.interpreter(model(tmp_path, EXECUTION_ENV_PATH=str(tmp_path / "env")))


def test_one_that_was_built_ahead_is_taken_and_nothing_is_written(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = model(tmp_path, "anything==1\n")

    def made(command: list[str], _folder: Path, _spec: LoadSpec) -> None:
        if "venv" in command:
            for folder in ("bin", "lib/python3.11/site-packages"):
                (Path(command[-1]) / folder).mkdir(parents=True)
            (Path(command[-1]) / "bin" / "python3").touch()

    built, other = tmp_path / "built", tmp_path / "other"
    monkeypatch.setattr(environment, "_run", made)
    assert environment.main([str(spec.path / "requirements.txt"), str(built)]) == 0
    monkeypatch.delattr(environment, "_run")
    settings = {"environments": f"{other}{os.pathsep}{built}"}
    python, _ = environment.interpreter(msgspec.structs.replace(spec, backend_settings=settings))
    assert python is not None
    assert python.is_relative_to(built)
    assert not own_cache.exists()


def test_one_that_cannot_be_built_ahead_says_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = model(tmp_path, "anything==1\n").path / "requirements.txt"
    monkeypatch.setattr(environment.sys, "executable", str(tmp_path / "no-python"))
    assert environment.main([str(requirements), str(tmp_path / "built")]) == 1
    assert "its environment could not be made: " in capfd.readouterr().err


@pytest.mark.parametrize(
    ("variables", "program"), [({}, "uv pip install --python"), ({"PIP_PROXY": "http://x"}, "pip")]
)
def test_uv_installs_where_it_is_and_pip_is_told_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], program: str
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent))
    monkeypatch.setattr(environment, "_PIP_FILES", (str(tmp_path / "none.conf"),))
    found = " ".join(environment._installer(Path("/env/bin/python")))
    assert program in found
    assert found.startswith(str(uv)) == (not variables)

"""A server that is told what models may bring: it loads that, and refuses the rest by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_uploads.contents import ELF, SERVED, padded_pickle
from worker_runtime.config import parse
from worker_runtime.config.arguments import UsageError
from worker_runtime.errors import RuntimeFault
from worker_runtime.inprocess import InferenceServer

MARKS = """
import pathlib
import triton_python_backend_utils as pb_utils
pathlib.Path({mark!r}).touch()
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([]) for _ in requests]
"""
PYTHON = SERVED.replace("identity", "python")
ENSEMBLE = """
platform: "ensemble"
input { name: "A" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "B" data_type: TYPE_FP32 dims: [ 1 ] }
ensemble_scheduling { step { model_name: "part" model_version: -1
  input_map { key: "INPUT0" value: "A" } output_map { key: "OUTPUT0" value: "B" } } }
"""


def put(root: Path, name: str, config: str, **files: str | bytes) -> Path:
    (root / name / "1").mkdir(parents=True, exist_ok=True)
    (root / name / "config.pbtxt").write_text(config)
    for path, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (root / name / "1" / path.replace("__", ".")).write_bytes(data)
    return root / name


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What a model's code makes when it runs."""
    return tmp_path / "ran"


@contextmanager
def served(root: Path, **flags: str) -> Iterator[InferenceServer]:
    server = InferenceServer(
        str(root), model_control_mode="explicit", exit_on_error="false", **flags
    )
    with server:
        yield server


def refused(server: InferenceServer, name: str, *parts: str, **options: Any) -> None:
    with pytest.raises(RuntimeFault) as error:
        server.load(name, **options)
    for part in ("--allow-code", *parts):
        assert part in str(error.value)


def test_python_runs_only_where_it_is_allowed(root: Path, mark: Path) -> None:
    put(root, "m", PYTHON, model__py=MARKS.format(mark=str(mark)))
    for kinds in ("", "library,packages"):
        with served(root, allow_code=kinds) as server:
            refused(server, "m", "'python'", "m/config.pbtxt")
    assert not mark.exists()
    for flags in ({"allow_code": "python"}, {}):
        with served(root, **flags) as server:
            server.load("m")
        assert mark.exists()
        mark.unlink()


def test_packages_and_environments_need_their_own_leave(root: Path, mark: Path) -> None:
    code = MARKS.format(mark=str(mark))
    put(root, "p", PYTHON, model__py=code, requirements__txt="./x.whl\n")
    environment = 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "%s" } }'
    put(root, "e", PYTHON + environment % "$$TRITON_MODEL_DIRECTORY/env", model__py=code)
    put(root, "o", PYTHON + environment % "/usr", model__py=code)
    with served(root, allow_code="python") as server:
        refused(server, "p", "'packages'", "p/1/requirements.txt")
        refused(server, "e", "'environment'", "e/config.pbtxt")
    with served(root, allow_code="python,environment") as server:
        with pytest.raises(RuntimeFault, match="outside the model directory"):
            server.load("o")
    assert not mark.exists()


def test_what_comes_with_a_load_request_is_judged_too(root: Path, mark: Path) -> None:
    put(root, "m", SERVED)
    code = MARKS.format(mark=str(mark)).encode()
    tensors = (
        '"input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [1]}], '
        '"output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [1]}]'
    )
    python = f'{{"backend": "python", {tensors}}}'
    identity = f'{{"backend": "identity", {tensors}}}'
    with served(root, allow_code="") as server:
        server.load("m")
        refused(server, "m", "'python'", config=python)
        refused(server, "m", "'python'", config=python, files={"1/model.py": code})
        refused(server, "m", "'library'", config=identity, files={"1/labels.txt": ELF})
        refused(server, "m", "'pickle'", config=identity, files={"1/w.bin": padded_pickle()})
        server.load("m", config=identity, files={"1/w.bin": b"\1\2\3"})
    assert not mark.exists()


def test_parts_of_ensembles_and_changed_files_are_judged(root: Path) -> None:
    part = put(root, "part", SERVED)
    put(root, "whole", ENSEMBLE)
    with served(root, allow_code="") as server:
        (part / "1" / "lib.so").write_bytes(ELF)
        with pytest.raises(RuntimeFault):
            server.load("whole")
        (part / "1" / "lib.so").unlink()
        server.load("whole")
        (part / "1" / "notes").write_bytes(ELF)
        refused(server, "part", "'library'", "part/1/notes")


def test_shared_backends_are_python(root: Path, tmp_path: Path, mark: Path) -> None:
    backends = tmp_path / "backends"
    put(backends, "mine", "")
    (backends / "mine" / "model.py").write_text(MARKS.format(mark=str(mark)))
    put(root, "m", SERVED.replace("identity", "mine"))
    with served(root, allow_code="", backend_directory=str(backends)) as server:
        refused(server, "m", "'python'", "mine")
    assert not mark.exists()
    with served(root, allow_code="python", backend_directory=str(backends)) as server:
        server.load("m")
    assert mark.exists()


@pytest.mark.parametrize(
    ("flags", "allowed"),
    [
        ([], None),
        (["--allow-code="], set()),
        (["--allow-code=python, files"], {"python", "files"}),
        (["--allow-code=python", "--allow-code=python,library"], {"python"}),
        (["--allow-code=", "--allow-code=python"], set()),
    ],
)
def test_the_flag(flags: list[str], allowed: set[str] | None) -> None:
    settings = parse(["--model-repository=/m", *flags])
    assert settings.allow_code == allowed


def test_a_kind_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="unknown kind pyton\nexpected python, library"):
        parse(["--model-repository=/m", "--allow-code=pyton"])

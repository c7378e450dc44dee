"""Whether, and where, a model directory has changed; directories made of a request's files."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from worker_runtime.errors import InvalidArgument
from worker_runtime.repository.fingerprint import Fingerprint, fingerprint
from worker_runtime.repository.layout import localise
from worker_runtime.types.repository import LoadOverride


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name in ("config.pbtxt", "labels.txt", "1/model.onnx", "2/model.onnx", "2/deep/weights"):
        path = tmp_path / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, ns=(10, 10))
    return tmp_path / "m"


def look(model: Path) -> Fingerprint:
    config = model / "config.pbtxt"
    return fingerprint(model, config if config.exists() else None)


def rewrite(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).write_text("other")


@pytest.mark.parametrize(
    ("change", "different", "versions"),
    [
        (lambda model: None, False, set()),
        (rewrite("config.pbtxt"), True, set()),
        (rewrite("labels.txt"), True, {1, 2, 3}),
        (rewrite("1/model.onnx"), True, {1}),
        (rewrite("2/deep/weights"), True, {2}),
        (lambda model: os.utime(model / "1/model.onnx", ns=(5, 5)), True, {1}),
        (lambda model: (model / "config.pbtxt").unlink(), True, set()),
        (lambda model: shutil.rmtree(model / "2"), True, {2}),
        (lambda model: (model / "3").mkdir(), True, {3}),
        (lambda model: (model / "1" / "__pycache__").mkdir(), False, set()),
    ],
)
def test_changes_are_seen_where_they_are(
    model: Path, change: Callable[[Path], None], different: bool, versions: set[int]
) -> None:
    before = look(model)
    change(model)
    after = look(model)
    assert (after != before) is different
    assert {v for v in (1, 2, 3) if before.version_changed(after, v)} == versions


def test_an_override_is_a_change_of_the_configuration_only(model: Path) -> None:
    before = look(model)
    assert before.overridden() != before
    assert before.overridden() != before.overridden()
    assert not before.version_changed(before.overridden(), 1)


def test_a_link_that_leads_back_is_walked_once(model: Path) -> None:
    (model / "1" / "up").symlink_to(model, target_is_directory=True)
    assert "1/up/1/up" not in look(model).entries


def test_files_of_a_request_become_a_directory_for_as_long_as_it_is_used() -> None:
    files = {"1/model.onnx": b"x", "1/data/a.bin": b"y", "labels.txt": b"z"}
    place = localise(LoadOverride("{}", files))
    path = place.path
    for name, content in files.items():
        assert (path / name).read_bytes() == content
    del place
    assert not path.exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            LoadOverride(None, {"1/model.onnx": b""}),
            "Load parameter 'config' must be specified for model file override",
        ),
        (
            LoadOverride("{}", {"../../etc/x": b""}),
            "Invalid file parameter 'file:../../etc/x' with normalized path '/.*' must stay within "
            "model directory.",
        ),
        (LoadOverride("{}", {"/etc/x": b""}), "normalized path '/etc/x' must stay within"),
        (
            LoadOverride("{}", {"1": b"", "1/model.onnx": b""}),
            "Invalid file parameter 'file:1/model.onnx', directory has been created as a file",
        ),
    ],
)
def test_files_that_cannot_be_written_are_refused(override: LoadOverride, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        localise(override)

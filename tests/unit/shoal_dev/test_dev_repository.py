"""What `shoal dev` serves of what it is pointed at."""

from pathlib import Path

import pytest

from shoal.client.errors import ShoalError
from shoal.dev.repository import repository_of


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def touched(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"content")
    return path


def linked(root: Path) -> dict[str, Path]:
    return {
        item.relative_to(root).as_posix(): item.readlink()
        for item in root.rglob("*")
        if item.is_symlink()
    }


@pytest.mark.parametrize(
    ("file", "name", "link"),
    [
        ("net.onnx", "", "net/1/model.onnx"),
        ("net.onnx", "other", "other/1/model.onnx"),
        ("Net.PTH", "", "Net/1/model.pt"),
        ("model.py", "mine", "mine/1/model.py"),
    ],
)
def test_a_file_is_a_model_of_one_version(
    tmp_path: Path, work: Path, file: str, name: str, link: str
) -> None:
    path = touched(tmp_path / file)
    assert repository_of(path, work, name) == work
    assert linked(work) == {link: path}


def test_the_weights_beside_a_graph_come_along(tmp_path: Path, work: Path) -> None:
    graph, weights = touched(tmp_path / "net.xml"), touched(tmp_path / "net.bin")
    repository_of(graph, work)
    assert linked(work) == {"net/1/model.xml": graph, "net/1/model.bin": weights}


@pytest.mark.parametrize("inside", ["1/model.onnx", "config.pbtxt"])
def test_a_model_is_linked_whole(tmp_path: Path, work: Path, inside: str) -> None:
    model = tmp_path / "net"
    touched(model / inside)
    assert repository_of(model, work) == work
    assert linked(work) == {"net": model}


@pytest.mark.parametrize("below", [".", "models"])
def test_a_repository_is_served_where_it_is(tmp_path: Path, work: Path, below: str) -> None:
    touched(tmp_path / "project" / below / "net" / "1" / "model.onnx")
    found = repository_of(tmp_path / "project", work)
    assert found.resolve() == (tmp_path / "project" / below).resolve()
    assert linked(work) == {}


@pytest.mark.parametrize(
    ("made", "asked", "name", "said"),
    [
        ("other", "missing", "", "missing does not exist"),
        ("notes.txt", "notes.txt", "", "notes.txt is not a model that can be served alone"),
        ("empty/notes.txt", "empty", "", "empty holds no model"),
        ("models/net/config.pbtxt", "models", "x", "--name x: .* holds models with names"),
    ],
)
def test_what_is_no_model_is_refused(
    tmp_path: Path, work: Path, made: str, asked: str, name: str, said: str
) -> None:
    touched(tmp_path / made)
    with pytest.raises(ShoalError, match=said):
        repository_of(tmp_path / asked, work, name)

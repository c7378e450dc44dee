"""Every shape that people point at becomes a repository with the right names in it."""

import hashlib
from pathlib import Path

import pytest

from shoal.client import UnusableSource
from shoal.client.concurrency import Threads
from shoal.client.file_uploads import listed
from shoal.client.packing import packaged


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def names_in(source: Path) -> list[str]:
    return sorted(name for _, name in packaged(source).files)


@pytest.mark.parametrize("name", ["net.onnx", "repository.zip"])
def test_a_file_is_sent_as_it_is(tmp_path: Path, name: str) -> None:
    make(tmp_path, name)
    package = packaged(tmp_path / name)
    assert (package.single, package.filename) == (tmp_path / name, name)


def test_a_single_file_is_served_under_the_name_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "net.onnx")
    package = packaged(tmp_path / "net.onnx", serve_as="vision")
    assert package.filename == "vision.onnx"


def test_an_archive_names_its_models_itself(tmp_path: Path) -> None:
    make(tmp_path, "repository.zip")
    package = packaged(tmp_path / "repository.zip", serve_as="vision")
    assert package.filename == "repository.zip"


def test_weights_beside_the_graph_go_with_it(tmp_path: Path) -> None:
    make(tmp_path, "net.onnx", "net.onnx.data")
    assert names_in(tmp_path / "net.onnx") == ["net/1/model.onnx", "net/1/net.onnx.data"]


def test_a_repository_keeps_its_layout(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", "a/1/model.onnx", "a/config.pbtxt", "b/2/model.onnx")
    assert names_in(root) == ["a/1/model.onnx", "a/config.pbtxt", "b/2/model.onnx"]


def test_a_bare_model_folder_becomes_a_repository_of_one(tmp_path: Path) -> None:
    root = make(tmp_path / "net", "1/model.onnx", "config.pbtxt")
    assert names_in(root) == ["net/1/model.onnx", "net/config.pbtxt"]


def test_a_bare_model_folder_takes_the_name_its_config_demands(tmp_path: Path) -> None:
    root = make(tmp_path / "model_1", "1/model.onnx")
    (root / "config.pbtxt").write_text('input [ {\n  name: "x"\n } ]\nname: "resnet"\n')
    assert names_in(root) == ["resnet/1/model.onnx", "resnet/config.pbtxt"]


def test_the_folder_above_versions_is_a_model(tmp_path: Path) -> None:
    assert names_in(make(tmp_path / "net", "3/model.onnx")) == ["net/3/model.onnx"]


def test_a_version_folder_takes_its_models_name(tmp_path: Path) -> None:
    make(tmp_path / "net", "3/model.onnx")
    assert names_in(tmp_path / "net" / "3") == ["net/3/model.onnx"]


def test_a_folder_with_one_graph_gives_it_the_name_that_is_looked_for(tmp_path: Path) -> None:
    root = make(tmp_path / "export", "graph.onnx", "weights.bin")
    assert names_in(root) == ["export/1/model.onnx", "export/1/weights.bin"]


def test_leftovers_of_tools_stay_behind(tmp_path: Path) -> None:
    root = make(
        tmp_path / "repo",
        "a/1/model.onnx", ".git/config", "a/.DS_Store", "__MACOSX/a/1/model.onnx",
        "a/1/__pycache__/model.pyc",
    )  # fmt: skip
    assert names_in(root) == ["a/1/model.onnx"]


def test_an_empty_version_folder_is_kept(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", "ensemble/config.pbtxt", "a/1/model.onnx")
    (root / "ensemble" / "1").mkdir()
    assert "ensemble/1/" in names_in(root)


def test_links_are_followed_once(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", "a/1/model.onnx")
    blob = make(tmp_path / "cache", "blob") / "blob"
    (root / "a" / "1" / "weights.bin").symlink_to(blob)
    (root / "a" / "round").symlink_to(root)
    assert [n for n in names_in(root) if not n.startswith("a/round")] == [
        "a/1/model.onnx",
        "a/1/weights.bin",
    ]


def test_files_are_hashed_where_they_lie_and_progress_covers_every_byte(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    root = make(tmp_path / "repo", "a/1/model.onnx", "b/1/model.onnx")
    (root / "b" / "2").mkdir()
    found = listed(packaged(root), Threads(), lambda done, total: seen.append((done, total)))
    rows = {file.name: (file.size, file.sha256) for file in found}
    content = b"a/1/model.onnx"
    assert rows["a/1/model.onnx"] == (len(content), hashlib.sha256(content).hexdigest())
    assert rows["b/2/"] == (0, "")
    assert seen[-1] == (2 * len(content), 2 * len(content))


def test_a_folder_without_a_model_says_what_was_looked_for(tmp_path: Path) -> None:
    make(tmp_path / "photos", "cat.jpg")
    with pytest.raises(UnusableSource, match=r"config\.pbtxt"):
        packaged(tmp_path / "photos")

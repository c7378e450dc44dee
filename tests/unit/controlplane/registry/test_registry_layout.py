"""Whatever people upload becomes a repository, and they are told how."""

from pathlib import Path

import pytest

from controlplane.registry.errors import IngestFailed
from controlplane.registry.layout import arrange, model_name


def files(root: Path) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())


def make(root: Path, *names: str, config: str = "") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config if name.endswith("config.pbtxt") else "x")


@pytest.mark.parametrize(
    ("uploaded", "filename", "expected"),
    [
        (["resnet.onnx"], "resnet.onnx", ["resnet/1/model.onnx"]),
        (["net.onnx", "net.data"], "net.zip", ["net/1/model.onnx", "net/1/net.data"]),
        (["1/model.onnx", "config.pbtxt"], "m.zip", ["m/1/model.onnx", "m/config.pbtxt"]),
        (["m/1/model.onnx"], "whatever.zip", ["m/1/model.onnx"]),
        (["m/1/model.onnx", "m/2/model.onnx"], "z.zip", ["m/1/model.onnx", "m/2/model.onnx"]),
        (
            ["repo/a/1/model.onnx", "repo/b/1/model.onnx"],
            "z.zip",
            ["a/1/model.onnx", "b/1/model.onnx"],
        ),
        (["x/y/m/1/model.onnx"], "z.zip", ["m/1/model.onnx"]),
        (["m/m/1/model.onnx"], "z.zip", ["m/1/model.onnx"]),
        (["m/model.onnx", "m/config.pbtxt"], "z.zip", ["m/1/model.onnx", "m/config.pbtxt"]),
        (["m/net.onnx", "m/labels.txt"], "z.zip", ["m/1/model.onnx", "m/labels.txt"]),
        (
            ["a/1/model.onnx", "b/1/model.onnx", "README.md"],
            "z.zip",
            ["a/1/model.onnx", "b/1/model.onnx"],
        ),
        (["notes/readme.txt"], "z.zip", ["notes/readme.txt"]),
        (["a.onnx", "b.onnx"], "z.zip", ["a/1/model.onnx", "b/1/model.onnx"]),
        (["net.pt"], "net.pt", ["net/1/model.pt"]),
        (["model.py", "helper.py"], "tok.zip", ["tok/1/helper.py", "tok/1/model.py"]),
        (["m/model.xml", "m/model.bin"], "z.zip", ["m/1/model.bin", "m/1/model.xml"]),
        (["face.xml", "face.bin"], "z.zip", ["z/1/model.bin", "z/1/model.xml"]),
        (
            ["saved/saved_model.pb", "saved/variables/variables.index"],
            "z.zip",
            [
                "saved/1/model.savedmodel/saved_model.pb",
                "saved/1/model.savedmodel/variables/variables.index",
            ],
        ),
        (["xgboost.json"], "churn.json", ["churn/1/xgboost.json"]),
    ],
)
def test_an_upload_is_arranged(
    tmp_path: Path, uploaded: list[str], filename: str, expected: list[str]
) -> None:
    make(tmp_path, *uploaded)
    said = arrange(tmp_path, filename)
    assert files(tmp_path) == expected
    assert bool(said) == (sorted(uploaded) != expected)


def test_arranging_a_repository_again_changes_nothing(tmp_path: Path) -> None:
    make(tmp_path, "repo/a/1/model.onnx")
    arrange(tmp_path, "z.zip")
    before = files(tmp_path)
    assert arrange(tmp_path, "z.zip") == []
    assert files(tmp_path) == before


def test_the_name_in_the_configuration_beats_the_file_name(tmp_path: Path) -> None:
    make(tmp_path, "config.pbtxt", "1/model.onnx", config='name: "densenet"\n')
    arrange(tmp_path, "upload-final-2.zip")
    assert files(tmp_path) == ["densenet/1/model.onnx", "densenet/config.pbtxt"]


def test_a_name_in_the_configuration_cannot_lead_out(tmp_path: Path) -> None:
    make(tmp_path, "config.pbtxt", "1/model.onnx", config='name: "../../evil"\n')
    arrange(tmp_path, "good.zip")
    assert files(tmp_path) == ["good/1/model.onnx", "good/config.pbtxt"]


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("resnet50-v1.5.onnx", "resnet50-v1.5"),
        ("my model (2).onnx", "my_model_2"),
        ("repo.tar.gz", "repo"),
        ("модель.onnx", "model"),
        (".onnx", "model"),
    ],
)
def test_a_model_is_named_after_its_file(filename: str, name: str) -> None:
    assert model_name(filename) == name


ENSEMBLE = 'platform: "ensemble"\nensemble_scheduling { step [] }\n'


def test_a_version_without_files_stays(tmp_path: Path) -> None:
    make(tmp_path, "e/config.pbtxt", config=ENSEMBLE)
    (tmp_path / "e" / "1").mkdir()
    assert arrange(tmp_path, "z.zip") == []
    assert files(tmp_path) == ["e/1/.keep", "e/config.pbtxt"]


def test_an_ensemble_without_version_gets_one(tmp_path: Path) -> None:
    make(tmp_path, "m/1/model.onnx")
    make(tmp_path, "e/config.pbtxt", config=ENSEMBLE)
    assert arrange(tmp_path, "z.zip") == [
        "Created version 1, which an ensemble needs as well: e/1/."
    ]
    assert files(tmp_path) == ["e/1/.keep", "e/config.pbtxt", "m/1/model.onnx"]


def test_a_model_without_its_file_gets_no_version(tmp_path: Path) -> None:
    make(tmp_path, "m/config.pbtxt", config='backend: "onnxruntime"')
    assert arrange(tmp_path, "z.zip") == []
    assert files(tmp_path) == ["m/config.pbtxt"]


def test_folders_without_files_are_gone_before_anybody_looks(tmp_path: Path) -> None:
    """Only files reach a node: a version of empty folders was looked at in place of the real."""
    (tmp_path / "evil.python" / "1" / "model.plan").mkdir(parents=True)
    (tmp_path / "evil.python" / "2" / "variables").mkdir(parents=True)
    (tmp_path / "evil.python" / "2" / "model.python").write_bytes(b"x")
    (tmp_path / "evil.python" / "notes").mkdir()
    said = arrange(tmp_path, "z.zip")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == [
        "evil.python",
        "evil.python/1",
        "evil.python/1/.keep",
        "evil.python/2",
        "evil.python/2/model.python",
    ]
    assert said == ["Left out empty folders: evil.python/1/model.plan, evil.python/2/variables, "
                    "evil.python/notes."]  # fmt: skip


@pytest.mark.parametrize(
    ("uploaded", "expected"),
    [
        (["m/config.pbtxt/x"], ["config.pbtxt/x"]),
        (["m/saved_model.pb/x"], ["saved_model.pb/x"]),
        (["m/saved_model.pb/x", "m/1/w"], ["m/1/w", "m/saved_model.pb/x"]),
        (["m/s/saved_model.pb/x", "m/net.onnx"], ["m/1/model.onnx", "m/s/saved_model.pb/x"]),
    ],
)
def test_a_folder_that_is_called_like_a_file_is_none(
    tmp_path: Path, uploaded: list[str], expected: list[str]
) -> None:
    make(tmp_path, *uploaded)
    arrange(tmp_path, "z.zip")
    assert files(tmp_path) == expected


@pytest.mark.parametrize(
    ("uploaded", "expected"),
    [
        # external weights may be called anything, also like the version that they come into
        (["m/net.onnx", "m/1"], ["m/1/1", "m/1/model.onnx"]),
        (
            ["m/saved_model.pb", "m/1"],
            ["m/1/model.savedmodel/1", "m/1/model.savedmodel/saved_model.pb"],
        ),
        (["w/.w.lifted/x", "w/m/1/w"], [".w.lifted/x", "m/1/w"]),
        (["1/w", ".z.sunk/x"], ["z/.z.sunk/x", "z/1/w"]),
        (["a.b.onnx", "a.onnx", "a"], ["a.b/1/model.onnx", "a/1/a", "a/1/model.onnx"]),
    ],
)  # fmt: skip
def test_no_name_in_an_upload_is_in_the_way(
    tmp_path: Path, uploaded: list[str], expected: list[str]
) -> None:
    make(tmp_path, *uploaded)
    arrange(tmp_path, "z.zip")
    assert files(tmp_path) == expected


@pytest.mark.parametrize(
    ("uploaded", "said"),
    [
        (["m/net.xml", "m/net.bin", "m/model.bin"], ["model.bin", "net.bin", "m/1/model.bin"]),
        (["m/config.pbtxt", "m/s/saved_model.pb", "m/1"], ["m/1", "folder"]),
        (["e/config.pbtxt", "e/1"], ["e/1", "folder"]),
        (["my net.onnx", "my_net", "b.onnx"], ["my_net", "folder"]),
        (["m/1/w", "m/config.pbtxt/x"], ["m/config.pbtxt", "has to be a file"]),
        (["config.pbtxt/x", "net.onnx"], ["z/config.pbtxt", "has to be a file"]),
        (["m/config.pbtxt/x", "m/net.onnx"], ["m/config.pbtxt", "has to be a file"]),
        (["a.onnx", "b.onnx", "config.pbtxt/x"], ["z/config.pbtxt", "has to be a file"]),
    ],
)
def test_two_things_for_one_name_are_refused_with_nothing_lost(
    tmp_path: Path, uploaded: list[str], said: list[str]
) -> None:
    make(tmp_path, *uploaded, config=ENSEMBLE)
    with pytest.raises(IngestFailed) as refused:
        arrange(tmp_path, "z.zip")
    assert refused.value.code == "NameTaken"
    assert [word for word in said if word not in refused.value.message] == []
    assert refused.value.hints
    assert len(files(tmp_path)) == len(uploaded)


def test_a_file_beside_a_wrapper_is_left_out_in_words(tmp_path: Path) -> None:
    make(tmp_path, "README.md", "w/README.md", "w/m/1/model.onnx")
    assert arrange(tmp_path, "z.zip") == [
        "Left out files beside the models: README.md.",
        "Took the content out of the folder w/.",
        "Left out files beside the models: README.md.",
    ]
    assert files(tmp_path) == ["m/1/model.onnx"]


@pytest.mark.parametrize("name", ["x" * 255, "x" * 250])
def test_names_as_long_as_they_may_be(tmp_path: Path, name: str) -> None:
    make(tmp_path, f"{name}/{name}/1/model.onnx", f"{name}/{name}/1/y")
    arrange(tmp_path, "z.zip")
    assert files(tmp_path) == [f"{name}/1/model.onnx", f"{name}/1/y"]


def test_a_long_upload_name_is_a_model(tmp_path: Path) -> None:
    make(tmp_path, "model.onnx")
    arrange(tmp_path, "x" * 250 + ".onnx")
    assert files(tmp_path) == ["x" * 250 + "/1/model.onnx"]


def test_a_name_in_the_configuration_is_no_longer_than_a_folder_may_have(tmp_path: Path) -> None:
    make(tmp_path, "config.pbtxt", "1/model.onnx", config=f'name: "{"x" * 256}"\n')
    arrange(tmp_path, "good.zip")
    assert files(tmp_path) == ["good/1/model.onnx", "good/config.pbtxt"]


def test_a_version_that_holds_an_empty_folder_called_keep_stays(tmp_path: Path) -> None:
    make(tmp_path, "e/config.pbtxt", config=ENSEMBLE)
    (tmp_path / "e" / "1" / ".keep").mkdir(parents=True)
    arrange(tmp_path, "z.zip")
    assert files(tmp_path) == ["e/1/.keep", "e/config.pbtxt"]

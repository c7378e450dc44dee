"""Whatever people upload becomes a repository, and they are told how."""

from pathlib import Path

import pytest

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

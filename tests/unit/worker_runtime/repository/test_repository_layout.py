"""Repositories on disk: versions, policies, configuration files, ONNX headers."""

from pathlib import Path

import pytest

from tests.support.onnx_models import add_sub, model_bytes, save
from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.layout import read_model, scan
from worker_runtime.repository.normalise import normalise, versions_to_serve
from worker_runtime.repository.onnx_file import NotOnnx, read_header
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.instances import Machine


def make(path: Path, *versions: str) -> Path:
    for version in versions:
        (path / version).mkdir(parents=True)
    return path


def test_version_directories_are_whole_numbers_without_leading_zeros(tmp_path: Path) -> None:
    make(tmp_path / "m", "1", "10", "9", "007", "old", "warmup", "configs", ".hidden")
    found = read_model(tmp_path / "m")
    assert found.versions == (1, 9, 10)
    assert len(found.warnings) == 2


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("", (10,)),
        ("version_policy { latest { num_versions: 2 } }", (9, 10)),
        ("version_policy { all {} }", (1, 9, 10)),
        ("version_policy { specific { versions: [1, 5] } }", (1,)),
    ],
)
def test_version_policies(tmp_path: Path, text: str, versions: tuple[int, ...]) -> None:
    directory = read_model(make(tmp_path / "m", "1", "9", "10"))
    assert versions_to_serve(parse(text), directory) == versions


def test_no_version_left_is_an_error(tmp_path: Path) -> None:
    directory = read_model(make(tmp_path / "m", "1"))
    with pytest.raises(ConfigInvalid, match="at least one version must be available"):
        versions_to_serve(parse("version_policy { specific { versions: [5] } }"), directory)


def test_scan_skips_files_and_hidden_directories(tmp_path: Path) -> None:
    make(tmp_path / "b", "1")
    make(tmp_path / "a", "1")
    make(tmp_path / ".git", "1")
    (tmp_path / "readme.txt").write_text("hello")
    assert [item.name for item in scan(tmp_path)] == ["a", "b"]


def test_a_named_configuration_wins_when_it_exists(tmp_path: Path) -> None:
    model = make(tmp_path / "m", "1", "configs")
    (model / "config.pbtxt").write_text("max_batch_size: 1")
    (model / "configs" / "big.pbtxt").write_text("max_batch_size: 64")
    assert "64" in read_model(model, "big").config_text()
    assert read_model(model, "small").config_text() == "max_batch_size: 1"


def test_normalising_fills_name_backend_and_groups(tmp_path: Path) -> None:
    model = save(tmp_path, "m", add_sub())
    config = parse("")
    normalise(config, read_model(model), Machine(cores=8))
    assert (config.name, config.backend, config.platform) == (
        "m",
        "onnxruntime",
        "onnxruntime_onnx",
    )
    assert config.instance_group[0].count == 2
    assert config.instance_group[0].kind == 2
    assert config.default_model_filename == "model.onnx"


def test_the_name_is_the_directorys(tmp_path: Path) -> None:
    model = save(tmp_path, "m", add_sub())
    message = "unexpected directory name 'm' for model 'other', directory name must equal model"
    with pytest.raises(ConfigInvalid, match=message):
        normalise(parse('name: "other"'), read_model(model), Machine(cores=2))


@pytest.mark.parametrize(
    ("name", "file", "text", "backend", "platform", "filename"),
    [
        ("m", "model.pt", "", "pytorch", "pytorch_libtorch", "model.pt"),
        ("m", "model.pt2", "", "pytorch", "torch_aoti", "model.pt2"),
        ("m", "model.plan", "", "tensorrt", "tensorrt_plan", "model.plan"),
        ("m", "model.xml", "", "openvino", "", "model.xml"),
        ("m", "model.py", "", "python", "", "model.py"),
        ("m", "model.py", 'platform: "python" backend: "python"', "python", "python", "model.py"),
        ("m", "x", 'default_model_filename: "model.onnx"', "onnxruntime", "onnxruntime_onnx",
         "model.onnx"),
        ("m", "x", 'backend: "pytorch"', "pytorch", "pytorch_libtorch", "model.pt"),
        ("m", "x", 'backend: "identity"', "identity", "", ""),
        ("m", "x", 'backend: "nope"', "nope", "", ""),
        ("m", "x", 'platform: "nope"', "", "nope", ""),
        ("m", "x", 'platform: "ensemble"', "", "ensemble", ""),
        ("m.identity", "x", "", "identity", "", "model.identity"),
        ("m.a.b", "x", "", "a.b", "", "model.a.b"),
    ],
)  # fmt: skip
def test_backend_platform_and_file_are_told_from_what_there_is(
    tmp_path: Path, name: str, file: str, text: str, backend: str, platform: str, filename: str
) -> None:
    (tmp_path / name / "1").mkdir(parents=True)
    (tmp_path / name / "1" / file).touch()
    config = parse(text)
    normalise(config, read_model(tmp_path / name), Machine(cores=2))
    found = (config.backend, config.platform, config.default_model_filename)
    assert found == (backend, platform, filename)


def test_a_model_that_names_no_backend_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    with pytest.raises(ConfigInvalid) as raised:
        normalise(parse(""), read_model(tmp_path / "m"), Machine(cores=2))
    assert str(raised.value) == (
        "Invalid model name: Could not determine backend for model 'm' with no backend in model "
        "configuration. Expected model name of the form 'model.<backend_name>'."
    )


@pytest.mark.parametrize(
    ("policy", "versions"),
    [
        ("", (12,)),
        ("latest { num_versions: 2 }", (3, 12)),
        ("latest { num_versions: 9 }", (1, 3, 12)),
        ("all {}", (1, 3, 12)),
        ("specific { versions: [12, 4, 1] }", (1, 12)),
        ("latest {}", None),
        ("specific { versions: [4] }", None),
    ],
)
def test_version_policies_as_triton_reads_them(
    tmp_path: Path, policy: str, versions: tuple[int, ...] | None
) -> None:
    for version in (1, 3, 12):
        (tmp_path / "m" / str(version)).mkdir(parents=True)
    config = parse(f"version_policy {{ {policy} }}" if policy else "")
    if versions is not None:
        assert versions_to_serve(config, read_model(tmp_path / "m")) == versions
        return
    message = "at least one version must be available under the version policy of model 'm'$"
    with pytest.raises(ConfigInvalid, match=message):
        versions_to_serve(config, read_model(tmp_path / "m"))


def test_gpus_are_used_when_they_are_there(tmp_path: Path) -> None:
    model = save(tmp_path, "m", add_sub())
    config = parse("")
    normalise(config, read_model(model), Machine(cores=8, gpus=2))
    group = config.instance_group[0]
    assert (group.kind, list(group.gpus), group.count) == (1, [0, 1], 1)


def test_an_onnx_header_is_read_without_loading(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model_bytes(add_sub(), opset=16))
    header = read_header(path)
    assert (header.producer, header.opset) == ("shoal-tests", 16)


@pytest.mark.parametrize("cut", [0, 1, 20, 100])
def test_a_truncated_file_is_no_onnx(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model_bytes(add_sub())[:cut])
    with pytest.raises(NotOnnx):
        read_header(path)


@pytest.mark.parametrize(
    "data", [b"hello world\n", b"PK\x03\x04" * 20, b"\x80\x04\x95" * 50, b"\xff" * 64]
)
def test_other_files_are_no_onnx(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(NotOnnx, match="first bytes"):
        read_header(path)

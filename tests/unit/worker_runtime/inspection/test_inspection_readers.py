"""What model files tell about themselves although nothing in them is run."""

import json
import os
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from worker_runtime.errors import LoadFailed
from worker_runtime.files.contents import kinds_of_file
from worker_runtime.inspection.readers.openvino_ir import read_openvino
from worker_runtime.inspection.readers.python_source import read_python
from worker_runtime.inspection.readers.savedmodel import read_savedmodel
from worker_runtime.inspection.readers.torchscript import read_torch
from worker_runtime.inspection.readers.trees import read_trees
from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.inspection.validation import validate_text

SCRIPT = """class Net(Module):
  __parameters__ = []
  training : bool
  def forward(self: __torch__.nets.Net,
    image: Tensor,
    scale: float=1.) -> Tuple[Tensor, Tensor]:
    return (torch.mul(image, scale), image)
"""
PROGRAM = {
    "graph_module": {
        "graph": {
            "tensor_values": {
                "w": {"dtype": 7, "sizes": [{"as_int": 2}]},
                "image": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0"}}, {"as_int": 3}]},
                "linear": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0"}}, {"as_int": 2}]},
            }
        },
        "signature": {
            "input_specs": [
                {"parameter": {"arg": {"name": "w"}}},
                {"user_input": {"arg": {"as_tensor": {"name": "image"}}}},
            ],
            "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}],
        },
    }
}
# Protocol 2: the class Net of module __torch__.nets; and one that names os.system.
PICKLE = b"\x80\x02c__torch__.nets\nNet\nq\x00)\x81."
EVIL = b"\x80\x02c__torch__.nets\nNet\ncos\nsystem\nX\x04\x00\x00\x00true\x85R."


def archive(path: Path, **entries: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in entries.items():
            file.writestr(f"net/{name}", content)
    return path


def script(path: Path, pickle: bytes = PICKLE) -> Path:
    entries = {"data.pkl": pickle, "constants.pkl": b".", "code/__torch__/nets.py": SCRIPT}
    return archive(path, **entries)


def test_torchscript_tells_arguments_and_results(tmp_path: Path) -> None:
    metadata = read_torch(script(tmp_path / "model.pt"), "m")
    assert metadata.graph is None
    assert metadata.arguments == (("image", "Tensor"), ("scale", "float"))
    assert metadata.results == ("Tensor", "Tensor")
    assert metadata.problems == ()


def test_a_pickle_is_looked_at_and_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(os, "system", ran.append)
    metadata = read_torch(script(tmp_path / "model.pt", EVIL), "m")
    assert [problem.code for problem in metadata.problems] == ["PickleGlobals"]
    assert "os.system" in metadata.problems[0].message
    assert ran == []


def test_torch_save_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = archive(tmp_path / "model.pt", **{"data.pkl": PICKLE})
    with pytest.raises(LoadFailed, match=r"torch\.save") as caught:
        read_torch(path, "m")
    assert "torch.jit.save" in caught.value.problem.hint  # type: ignore[union-attr]


def test_torch_export_tells_everything(tmp_path: Path) -> None:
    path = archive(tmp_path / "model.pt2", **{"models/model.json": json.dumps(PROGRAM)})
    graph = read_torch(path, "m").graph
    assert graph is not None
    (image,), (scores,) = graph.inputs, graph.outputs
    assert (image.name, image.datatype, image.shape) == ("image", "FP32", (-1, 3))
    assert (scores.name, scores.datatype, scores.shape) == ("OUTPUT__0", "FP32", (-1, 2))


def test_torchscript_without_configuration_gets_a_draft(tmp_path: Path) -> None:
    script(tmp_path / "net" / "1" / "model.pt")
    answer = inspect_repository(tmp_path)
    (problem,) = answer["problems"]
    assert (problem["code"], problem["scope"]) == ("ConfigNeeded", "config")
    assert "image: Tensor" in problem["detail"]
    (model,) = answer["models"]
    assert model["proposal"]["certain"] is False
    assert 'name: "image"' in model["proposal"]["text"]
    assert 'name: "OUTPUT__1"' in model["proposal"]["text"]
    assert "scale" not in model["proposal"]["text"]


def test_torchscript_that_nobody_could_call_is_not_valid(tmp_path: Path) -> None:
    script(tmp_path / "net" / "1" / "model.pt")
    (model,) = inspect_repository(tmp_path)["models"]
    for text in ("", 'backend: "pytorch"'):
        answer = validate_text(text, "net", model["graph"])
        assert not answer["ok"]
        assert [problem["code"] for problem in answer["problems"]] == ["ConfigNeeded"]
    assert validate_text(model["proposal"]["text"], "net", model["graph"])["ok"]


def test_torch_export_without_configuration_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "net" / "1" / "model.pt2"
    archive(path, **{"models/model.json": json.dumps(PROGRAM)})
    answer = inspect_repository(tmp_path)
    assert answer["problems"] == []
    (model,) = answer["models"]
    assert model["inputs"][0]["shape"] == [-1, 3]
    assert model["proposal"]["certain"] is True  # the runtime will not find this out by itself
    assert 'backend: "pytorch"' in model["proposal"]["text"]


PYTHON = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        inputs = [{"name": "TEXT", "data_type": "TYPE_STRING", "dims": [1]}]
        for item in inputs:
            config.add_input(item)
        config.add_output({"name": "IDS", "data_type": "TYPE_INT64", "dims": [-1]})
        config.set_max_batch_size(4)
        return config

    def execute(self, requests):
        text = pb_utils.get_input_tensor_by_name(requests[0], "TEXT")
        return [pb_utils.InferenceResponse([pb_utils.Tensor("IDS", text)])]

raise SystemExit("never imported")
"""


def test_python_code_is_read_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "tok" / "1" / "model.py"
    path.parent.mkdir(parents=True)
    path.write_text(PYTHON)
    metadata = read_python(path, "tok")
    assert metadata.fills_itself
    assert (metadata.reads, metadata.writes, metadata.max_batch_size) == (("TEXT",), ("IDS",), 4)
    answer = inspect_repository(tmp_path)
    assert answer["problems"] == []
    (model,) = answer["models"]
    assert (model["backend"], model["max_batch_size"]) == ("python", 4)
    assert model["inputs"] == [
        {"name": "TEXT", "datatype": "BYTES", "shape": [1], "optional": False}
    ]
    assert model["outputs"][0]["name"] == "IDS"


@pytest.mark.parametrize(
    ("code", "text", "words"),
    [
        ("PythonSyntaxError", "class A(:\n", "1/model.py, line 1"),
        ("PythonModelMissing", "class TritonPythonModle:\n    pass\n", "no class"),
        ("PythonModelIncomplete", "class TritonPythonModel:\n    pass\n", "no method execute"),
    ],
)
def test_python_code_that_cannot_be_a_model(
    tmp_path: Path, code: str, text: str, words: str
) -> None:
    path = tmp_path / "m" / "1" / "model.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (problem,) = inspect_repository(tmp_path)["problems"]
    assert (problem["code"], problem["scope"]) == (code, "files")
    assert words in problem["message"]


IR = """<?xml version="1.0"?>
<net name="m" version="11">
  <layers>
    <layer id="0" name="in" type="Parameter" version="opset1">
      <data shape="?,3" element_type="f32"/>
      <output><port id="0" precision="FP32" names="image"><dim>-1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="soft" type="SoftMax" version="opset8">
      <input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input>
      <output><port id="1" precision="FP32" names="scores,alias"><dim>-1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="2" name="res" type="Result" version="opset1">
      <input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
  </edges>
</net>
"""  # noqa: E501 - as it is written


def test_openvino_tells_parameters_and_results(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(IR)
    with pytest.raises(LoadFailed, match="weights are missing"):
        read_openvino(path, "m")
    path.with_suffix(".bin").write_bytes(b"")
    graph = read_openvino(path, "m").graph
    assert graph is not None
    assert [(t.name, t.datatype, t.shape) for t in graph.inputs] == [("image", "FP32", (-1, 3))]
    assert [(t.name, t.datatype, t.shape) for t in graph.outputs] == [("scores", "FP32", (-1, 3))]


@pytest.mark.parametrize("text", ["no xml", "<other/>", '<!DOCTYPE a [<!ENTITY b "c">]><net/>'])
def test_what_is_no_ir(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.xml"
    path.write_text(text)
    path.with_suffix(".bin").write_bytes(b"")
    with pytest.raises(LoadFailed):
        read_openvino(path, "m")


def message(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def tensor_entry(name: bytes, kind: int, sizes: list[int]) -> bytes:
    dims = b"".join(message(2, b"\x08" + number(size)) for size in sizes)
    info = message(1, name + b":0") + bytes([2 << 3, kind]) + message(3, dims)
    return message(1, name) + message(2, info)


def number(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def test_a_savedmodel_tells_its_signature(tmp_path: Path) -> None:
    signature = message(1, tensor_entry(b"x", 1, [-1, 3])) + message(
        2, tensor_entry(b"y", 9, [-1, 2])
    )
    entry = message(1, b"serving_default") + message(2, signature)
    init = message(1, b"__saved_model_init_op") + message(2, b"")
    (tmp_path / "saved_model.pb").write_bytes(
        b"\x08\x01" + message(2, message(5, init) + message(5, entry))
    )
    graph = read_savedmodel(tmp_path, "m").graph
    assert graph is not None
    assert [(t.name, t.datatype, t.shape) for t in graph.inputs] == [("x", "FP32", (-1, 3))]
    assert [(t.name, t.datatype, t.shape) for t in graph.outputs] == [("y", "INT64", (-1, 2))]
    (tmp_path / "saved_model.pb").write_bytes(b"\x12\x7fshort")
    with pytest.raises(LoadFailed, match="not a SavedModel"):
        read_savedmodel(tmp_path, "m")


XGBOOST: dict[str, Any] = {
    "learner": {
        "learner_model_param": {"num_feature": "4", "num_class": "3", "num_target": "1"},
        "objective": {"name": "multi:softprob"},
    }
}
LIGHTGBM = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=27\nobjective=regression\n\nTree=0\n"


def test_trees_tell_features_and_classes(tmp_path: Path) -> None:
    (tmp_path / "xgboost.json").write_text(json.dumps(XGBOOST))
    (tmp_path / "model.txt").write_text(LIGHTGBM)
    boosted = read_trees(tmp_path / "xgboost.json", "m").graph
    light = read_trees(tmp_path / "model.txt", "m").graph
    assert boosted is not None
    assert light is not None
    assert (boosted.inputs[0].shape, boosted.outputs[0].shape) == ((-1, 4), (-1, 3))
    assert (light.inputs[0].shape, light.outputs[0].shape) == ((-1, 28), (-1, 1))
    assert light.producer == "lightgbm regression"
    (tmp_path / "xgboost.json").write_text("{}")
    with pytest.raises(LoadFailed, match="not a model that XGBoost saved"):
        read_trees(tmp_path / "xgboost.json", "m")


def test_a_forest_without_configuration_is_completed(tmp_path: Path) -> None:
    version = tmp_path / "churn" / "1"
    version.mkdir(parents=True)
    (version / "xgboost.json").write_text(json.dumps(XGBOOST))
    answer = inspect_repository(tmp_path)
    assert answer["problems"] == []
    (model,) = answer["models"]
    assert (model["backend"], model["max_batch_size"]) == ("fil", 4096)
    assert (model["inputs"][0]["shape"], model["outputs"][0]["shape"]) == ([4], [3])
    assert model["proposal"]["certain"] is True
    assert 'string_value: "xgboost_json"' in model["proposal"]["text"]


def packed(path: Path, entries: dict[str, bytes], how: int) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in entries.items():
            archive.writestr(f"net/{name}", content)
    return path


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2,
                                 zipfile.ZIP_LZMA])  # fmt: skip
@pytest.mark.parametrize("name", ["models/model.json", "constants.pkl"])
@pytest.mark.parametrize("at", [0, 50])
def test_a_torn_torch_archive_is_refused_in_words(
    tmp_path: Path, how: int, name: str, at: int
) -> None:
    entries = {name: bytes(range(256)) * 8, "data.pkl": bytes(range(256)) * 8}
    path = packed(tmp_path / "model.pt2", entries, how)
    data = bytearray(path.read_bytes())
    while (place := data.find(b"PK\x03\x04")) >= 0:
        data[place : place + 4] = b"torn"
        data[place + at : place + at + 20] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(LoadFailed, match="torn") as caught:
        read_torch(path, "m")
    assert caught.value.problem is not None and caught.value.problem.code == "NotATorchModel"
    assert kinds_of_file(path, "m/1/model.pt2")[0][0] == "unknown"


def test_an_archive_that_names_several_disks_is_refused_in_words(tmp_path: Path) -> None:
    path = packed(tmp_path / "model.pt2", {"constants.pkl": b"1"}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 1, 0, 2)
    path.write_bytes(data[:end] + locator + data[end:])
    with pytest.raises(LoadFailed, match="torn") as caught:
        read_torch(path, "m")
    assert caught.value.problem is not None and caught.value.problem.code == "NotATorchModel"
    assert kinds_of_file(path, "m/1/model.pt2")[0][0] == "unknown"


def test_a_program_that_is_nested_without_end_is_told_and_no_failure(tmp_path: Path) -> None:
    deep = b'{"graph_module":' + b"[" * 5000 + b"]" * 5000 + b"}"
    path = packed(tmp_path / "model.pt2", {"models/model.json": deep}, zipfile.ZIP_STORED)
    (problem,) = read_torch(path, "m").problems
    assert problem.code == "SignatureUnreadable"


@pytest.mark.parametrize("times", [400, 1500, 6000, 20_000])
def test_code_that_is_nested_without_end_is_told_and_no_failure(tmp_path: Path, times: int) -> None:
    path = tmp_path / "model.py"
    path.write_text(f"class TritonPythonModel:\n  def execute(self): ...\nx = {'-' * times}1\n")
    with suppress(LoadFailed):
        read_python(path, "m")
    source = f"class Net(Module):\n  def forward(self, x: {'-' * times}1): ...\n".encode()
    entries = {"data.pkl": PICKLE, "constants.pkl": b".", "code/__torch__/nets.py": source}
    torch = packed(tmp_path / "model.pt", entries, zipfile.ZIP_STORED)
    assert read_torch(torch, "m").producer == "torch.jit.save"


@pytest.mark.parametrize("learner", ["[]", '{"learner_model_param": []}', "null", '"x"', "7"])
def test_trees_without_their_tables_are_refused_in_words(tmp_path: Path, learner: str) -> None:
    path = tmp_path / "xgboost.json"
    path.write_text(f'{{"learner": {learner}}}')
    with pytest.raises(LoadFailed, match="not a model that XGBoost saved"):
        read_trees(path, "m")


@pytest.mark.parametrize("code", ["", "  @staticmethod\n  def auto_complete_config(c): return c\n"])
def test_a_tensor_without_a_type_is_told_and_no_failure(tmp_path: Path, code: str) -> None:
    """Of a model that completes itself it is no fault."""
    version = tmp_path / "m" / "1"
    version.mkdir(parents=True)
    source = f"class TritonPythonModel:\n  def execute(self, requests): ...\n{code}"
    (version / "model.py").write_text(source)
    (version.parent / "config.pbtxt").write_text('backend: "python"\noutput { name: "y" dims: 1 }')
    found = inspect_repository(tmp_path)
    errors = [item for item in found["problems"] if item["severity"] == "error"]
    assert any("must specify 'data_type'" in item["message"] for item in errors) == (not code)
    assert 'name: "y"' in found["models"][0]["config_effective"]


COMPLETES = """class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({{"name": {name}, "data_type": "TYPE_FP32", "dims": [{dim}]}})
        config.add_output({{"name": "b", "data_type": "TYPE_FP32", "dims": [1]}})
        config.set_max_batch_size({batch})
        return config

    def execute(self, requests): ...
"""
TREES = '{"learner": {"learner_model_param": {"num_feature": %s}, "objective": {"name": "x"}}}'
HUGE = str(10**30)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("model.py", COMPLETES.format(name="'a'", dim=HUGE, batch=1), f"dim {HUGE}"),
        ("model.py", COMPLETES.format(name="'a'", dim=1, batch=HUGE), f"max_batch_size {HUGE}"),
        ("model.py", COMPLETES.format(name="'a'", dim=1, batch="0x" + "f" * 9000), "36000 bits"),
        ("model.py", COMPLETES.format(name=r"'\ud800'", dim=1, batch=1), r"'\ud800'"),
        ("xgboost.json", TREES % HUGE, f"dim {HUGE}"),
        ("xgboost.json", TREES % "1e400", "xgboost.json"),
        ("model.txt", f"tree\nmax_feature_idx={HUGE}\n\n", "has the dim"),
        ("model.xml", IR.replace('shape="?,3"', f'shape="{HUGE}"'), f"dim {HUGE}"),
        ("model.xml", IR.replace('shape="?,3"', f'shape="{"9" * 5000}"'), "model.xml"),
        ("model.xml", '<?xml version="1.0" encoding="base64"?><net/>', "model.xml"),
        ("model.xml", '<?xml version="1.0" encoding="utf-7"?><net/>', "model.xml"),
    ],
)
def test_what_no_configuration_can_hold_is_refused_in_words(
    tmp_path: Path, file: str, text: str, said: str
) -> None:
    version = tmp_path / "m" / "1"
    version.mkdir(parents=True)
    (version / file).write_text(text)
    (version / "model.bin").write_bytes(b"")
    problems = inspect_repository(tmp_path)["problems"]
    assert [problem["severity"] for problem in problems] == ["error"]
    assert said in problems[0]["message"]

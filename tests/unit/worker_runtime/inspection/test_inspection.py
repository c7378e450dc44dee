"""What inspection says about good and bad repositories and texts."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import onnx_models as om
from worker_runtime.inspection.__main__ import main
from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.inspection.service import answers
from worker_runtime.repository.pbtxt import parse

GRAPH = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": ["N", 3]}],
    "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}],
}


def test_a_model_without_configuration_is_completed(tmp_path: Path) -> None:
    om.save(tmp_path, "m", om.identity(om.FP32, "N", None, source="a/b:0", target="scale_0.tmp_1"))
    found = inspect_repository(tmp_path)
    assert found["problems"] == []
    (model,) = found["models"]
    assert (model["name"], model["backend"], model["versions"]) == ("m", "onnxruntime", [1])
    assert model["inputs"] == [
        {"name": "a/b:0", "datatype": "FP32", "shape": [-1], "optional": False}
    ]
    assert model["outputs"][0]["labels"] is None
    assert model["graph"]["inputs"] == [{"name": "a/b:0", "datatype": "FP32", "shape": ["N", -1]}]
    assert (model["graph"]["producer"], model["graph"]["opset"]) == ("shoal-tests", 17)
    assert model["provenance"]["max_batch_size"] == "default"
    assert model["max_batch_size"] == 4
    assert model["config_text"] == ""
    assert parse(model["config_effective"]).max_batch_size == 4
    assert model["files"] == ["1/model.onnx"]


def test_labels_and_the_given_text_are_shown(tmp_path: Path) -> None:
    text = 'max_batch_size: 0 # keep\noutput { name: "y" label_filename: "l.txt" }\n'
    om.save(tmp_path, "m", om.identity(om.FP32, "N", 2), text)
    (tmp_path / "m" / "l.txt").write_text("a\nb\n")
    (model,) = inspect_repository(tmp_path)["models"]
    assert model["config_text"] == text
    assert model["max_batch_size"] == 0
    assert model["outputs"][0]["labels"] == ["a", "b"]
    assert model["outputs"][0]["shape"] == [-1, 2]


def problem(tmp_path: Path) -> dict[str, Any]:
    (found,) = inspect_repository(tmp_path)["problems"]
    assert found["severity"] == "error"
    return dict(found)


def test_not_an_onnx_file(tmp_path: Path) -> None:
    om.save(tmp_path, "m", b"GIF89a...")
    found = problem(tmp_path)
    assert (found["code"], found["model"]) == ("NotAnOnnxFile", "m")
    assert "1/model.onnx is not an ONNX file" in found["message"]


def test_a_graph_that_onnx_runtime_refuses(tmp_path: Path) -> None:
    om.save(tmp_path, "m", om.refused())
    found = problem(tmp_path)
    assert found["code"] == "ModelLoadFailed"
    assert "NoSuchOperator" in found["detail"]


def test_an_empty_upload_lists_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    found = problem(tmp_path)
    assert found["code"] == "NoModelFound"
    assert "model.onnx" in found["detail"]
    assert "notes.txt" in found["detail"]


def test_a_backend_that_is_not_here(tmp_path: Path) -> None:
    om.save(tmp_path, "m", om.add_sub(), 'backend: "dali"')
    found = problem(tmp_path)
    assert found["code"] == "BackendUnsupported"
    assert "onnxruntime, openvino, pytorch" in found["detail"]


@pytest.mark.parametrize(
    ("code", "text", "line", "column", "message"),
    [
        ("ConfigInvalid", "\nmax_batch: 1", 2, 1, 'unknown field "max_batch"'),
        (
            "TensorUnknown",
            '\n\ninput [{ name: "nope" data_type: 8 dims: 16 }, '
            '{ name: "INPUT1" data_type: 8 dims: 16 }]',
            3,
            10,
            "unexpected inference input 'nope', allowed inputs are: INPUT0, INPUT1",
        ),
        (
            "ConfigInvalid",
            "max_batch_size: -4",
            1,
            1,
            "'max_batch_size' must be non-negative value for m",
        ),
        (
            "ConfigInvalid",
            'output { name: "OUTPUT0" label_filename: "../x" }',
            1,
            26,
            "outside the model directory",
        ),
    ],
)
def test_bad_configurations_name_line_column_value_and_expectation(
    tmp_path: Path, code: str, text: str, line: int, column: int, message: str
) -> None:
    om.save(tmp_path, "m", om.add_sub(), text)
    (tmp_path / "x").write_text("secret")
    found = inspect_repository(tmp_path)["problems"][0]
    assert (found["code"], found["line"], found["column"]) == (code, line, column)
    assert message in found["message"]


def ask(**request: Any) -> dict[str, Any]:
    (line,) = answers([json.dumps(request)])
    answer: dict[str, Any] = json.loads(line)
    return answer


def test_validate_completes_and_is_ok() -> None:
    answer = ask(id=1, op="validate", text="", model="m", graph=GRAPH)
    assert (answer["id"], answer["ok"], answer["problems"]) == (1, True, [])
    assert answer["config"]["max_batch_size"] == 4
    assert answer["config"]["input"][0]["dims"] == [3]
    assert parse(answer["effective"]).name == "m"


def test_validate_offers_a_fix() -> None:
    answer = ask(id=2, op="validate", text="max_batch: 8", model="m", graph=GRAPH)
    assert not answer["ok"]
    (found,) = answer["problems"]
    assert found["fix"] == {"label": "Write max_batch_size", "text": "max_batch_size: 8"}
    assert (found["line"], found["column"]) == (1, 1)
    assert ask(id=3, op="validate", text=found["fix"]["text"], model="m", graph=GRAPH)["ok"]


def test_validate_finds_contradictions_with_the_graph() -> None:
    text = 'input { name: "x" data_type: TYPE_INT8 dims: [3] }'
    (found,) = ask(id=4, op="validate", text=text, model="m", graph=GRAPH)["problems"]
    assert found["field"] == "input[0].data_type"
    assert found["message"] == (
        "unable to load model 'm', configuration expects datatype TYPE_INT8 for input 'x', model "
        "provides TYPE_FP32"
    )
    assert found["hint"] == "got TYPE_INT8; expected TYPE_FP32"
    assert found["fix"]["text"] == 'input { name: "x" data_type: TYPE_FP32 dims: [3] }'


def test_render_turns_json_into_text() -> None:
    answer = ask(id=5, op="render", config={"name": "m", "max_batch_size": 2})
    assert answer == {"id": 5, "text": 'name: "m"\nmax_batch_size: 2\n'}


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"id":1}', '{"id":1,"op":"dance"}'])
def test_bad_lines_are_answered(line: str) -> None:
    (answer,) = answers([line])
    assert "error" in json.loads(answer)


def test_usage_is_the_only_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["repository", str(tmp_path / "nothing")]) == 2
    om.save(tmp_path, "m", b"bad")
    assert main(["repository", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["problems"]


def test_serve_answers_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = '{"id":1,"op":"render","config":{}}\n\n{"id":2,"op":"render","config":{}}\n'
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert main(["serve"]) == 0
    assert [json.loads(x)["id"] for x in capsys.readouterr().out.splitlines()] == [1, 2]


@pytest.mark.parametrize("backend", ["onnxruntime", "python", "pytorch", "openvino", "fil"])
@pytest.mark.parametrize("name", ["/etc/hostname", "../../outside/model", "../../outside/x"])
def test_nothing_outside_of_the_model_is_opened_or_listed(
    tmp_path: Path, backend: str, name: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "model").write_text("secret")
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "w").write_bytes(b"x")
    text = f'backend: "{backend}"\ndefault_model_filename: "{name}"\n'
    (tmp_path / "m" / "config.pbtxt").write_text(text)
    (problem,) = inspect_repository(tmp_path)["problems"]
    assert problem["field"] == "default_model_filename"
    assert problem["message"].startswith("'default_model_filename' of model 'm' names a file outs")
    assert problem["line"] == 2
    assert "there:" not in problem["detail"]


@pytest.mark.parametrize("backend", ["onnxruntime", "python", "pytorch", "openvino", "fil"])
@pytest.mark.parametrize("name", ["x" * 256, "x/" * 2500 + "x"])
def test_a_name_that_no_file_can_have_is_told(tmp_path: Path, backend: str, name: str) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "w").write_bytes(b"x")
    text = f'backend: "{backend}"\ndefault_model_filename: "{name}"\n'
    (tmp_path / "m" / "config.pbtxt").write_text(text)
    (problem,) = inspect_repository(tmp_path)["problems"]
    assert problem["message"] == f"1/{name} cannot be read: File name too long"


def test_a_folder_that_is_called_like_a_configuration_is_none(tmp_path: Path) -> None:
    om.save(tmp_path, "m", om.identity(om.FP32, "N", None))
    (tmp_path / "m" / "configs" / "x.pbtxt").mkdir(parents=True)
    (tmp_path / "m" / "configs" / "x.pbtxt" / "y").write_bytes(b"x")
    found = inspect_repository(tmp_path)
    assert found["problems"] == []
    assert found["models"][0]["code"] == []

"""Findings with codes and fixes: what people get wrong, beginning with the guides they follow."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import onnx_models as om
from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.inspection.validation import validate_text

PREPROCESS = """# decodes
name: "preprocess"  # as in the guide
backend: "python"
max_batch_size: 8
input [ { name: "RAW" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "PIXELS" data_type: TYPE_FP32 dims: [ 3, 2 ] } ]
"""
ENSEMBLE = """name: "pipeline"
platform: "ensemble"
input [ { name: "RAW" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 3, 2 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "preproces"
      model_version: -1
      input_map { key: "RAW" value: "RAW" }
      output_map { key: "PIXELS" value: "y" }
    }
  ]
}
"""
MODEL = "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"
GRAPH = {
    "inputs": [{"name": "image", "datatype": "FP32", "shape": ["N", 3, 8]}],
    "outputs": [{"name": "scores", "datatype": "FP32", "shape": ["N", 10]}],
}
FIXED = {
    "inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 3, 8]}],
    "outputs": [{"name": "scores", "datatype": "FP32", "shape": [1, 10]}],
}
IO = (
    'input [ { name: "image" data_type: TYPE_FP32 dims: [ 3, 8 ] } ]\n'
    'output [ { name: "scores" data_type: TYPE_FP32 dims: [ 10 ] } ]\n'
)


def python_model(root: Path, name: str, config: str, code: str = MODEL) -> None:
    (root / name / "1").mkdir(parents=True)
    (root / name / "1" / "model.py").write_text(code)
    (root / name / "config.pbtxt").write_text(config)


def test_the_folder_preprocessor_against_the_name_preprocess(tmp_path: Path) -> None:
    """The ensemble guide's own mistake: the folder and the name differ."""
    python_model(tmp_path, "preprocessor", PREPROCESS)
    answer = inspect_repository(tmp_path)
    (problem,) = answer["problems"]
    assert (problem["code"], problem["scope"], problem["line"]) == ("NameMismatch", "config", 2)
    mended = PREPROCESS.replace('"preprocess"', '"preprocessor"')
    assert problem["fix"] == {"label": 'Write name: "preprocessor"', "text": mended}
    (model,) = answer["models"]
    assert [tensor["name"] for tensor in model["inputs"]] == ["RAW"]  # the look went on
    assert model["proposal"] == {"text": mended, "certain": True}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("torchscript", "pytorch"),
        ("onnx_runtime", "onnxruntime"),
        ("Python", "python"),
        ("tensorflw", "tensorflow"),
    ],
)
def test_backends_as_guides_call_them(written: str, meant: str) -> None:
    text = f'name: "m"\nbackend: "{written}" # from the guide\n{IO}'
    answer = validate_text(text, "m", None)
    first = answer["problems"][0]
    assert (first["code"], first["line"], first["column"]) == ("BackendUnknown", 2, 1)
    assert first["fix"]["text"] == text.replace(written, meant)
    assert validate_text(first["fix"]["text"], "m", None)["ok"]


def fix_of(text: str, graph: dict[str, Any], code: str) -> str:
    """The text after the fix of the finding ``code``; no error may be left then."""
    answer = validate_text(text, "m", graph)
    found = {problem["code"]: problem for problem in answer["problems"]}
    assert code in found, answer["problems"]
    assert found[code]["line"]
    mended = str(found[code]["fix"]["text"])
    assert validate_text(mended, "m", graph)["ok"]
    return mended


def test_dims_that_hold_the_batch_axis() -> None:
    text = f"max_batch_size: 8\n{IO}".replace("[ 3, 8 ]", "[ -1, 3, 8 ]")
    assert fix_of(text, GRAPH, "BatchDimInDims") == f"max_batch_size: 8\n{IO}"


def test_batching_of_a_model_that_cannot() -> None:
    text = (
        "max_batch_size: 8 # why not\n"
        'input [ { name: "image" data_type: TYPE_FP32 dims: [ 1, 3, 8 ] } ]\n'
        'output [ { name: "scores" data_type: TYPE_FP32 dims: [ 1, 10 ] } ]\n'
    )
    assert "max_batch_size: 0 # why not" in fix_of(text, FIXED, "BatchingUnsupported")


def test_a_name_and_a_type_that_the_model_does_not_have() -> None:
    text = f"max_batch_size: 8\n{IO}"
    assert fix_of(text.replace('"image"', '"images"'), GRAPH, "TensorUnknown") == text
    other = text.replace("TYPE_FP32 dims: [ 10", "TYPE_INT64 dims: [ 10")
    assert fix_of(other, GRAPH, "DatatypeMismatch") == text


def test_dims_of_an_output_that_differ() -> None:
    text = f"max_batch_size: 8\n{IO}"
    assert fix_of(text.replace("[ 10 ]", "[ 11 ]"), GRAPH, "ShapeMismatch") == text


def test_preferred_batches_that_are_too_large() -> None:
    batching = "dynamic_batching { preferred_batch_size: [ 4, 8, 16 ] }\n"
    text = f"max_batch_size: 8\n{IO}{batching}"
    assert "preferred_batch_size: [ 4, 8 ]" in fix_of(text, GRAPH, "PreferredBatchTooLarge")


def test_a_platform_of_another_backend() -> None:
    text = f'backend: "onnxruntime"\nplatform: "pytorch_libtorch"\nmax_batch_size: 8\n{IO}'
    assert "platform" not in fix_of(text, GRAPH, "PlatformConflict")


def test_a_step_that_is_called_otherwise(tmp_path: Path) -> None:
    python_model(tmp_path, "preprocess", PREPROCESS)
    (tmp_path / "pipeline" / "1").mkdir(parents=True)
    (tmp_path / "pipeline" / "config.pbtxt").write_text(ENSEMBLE)
    answer = inspect_repository(tmp_path)
    (problem,) = answer["problems"]
    assert (problem["code"], problem["model"], problem["line"]) == (
        "EnsembleStepUnknown",
        "pipeline",
        8,
    )
    proposal = {model["name"]: model["proposal"] for model in answer["models"]}["pipeline"]
    assert proposal["text"] == ENSEMBLE.replace('"preproces"', '"preprocess"')


def test_a_step_that_nobody_has_is_not_taken_for_a_neighbour(tmp_path: Path) -> None:
    """A similar name is no fix when the model has other tensors."""
    text = ENSEMBLE.replace('"preproces"', '"postprocess"').replace("PIXELS", "LABEL")
    python_model(tmp_path, "preprocess", PREPROCESS)
    (tmp_path / "pipeline" / "1").mkdir(parents=True)
    (tmp_path / "pipeline" / "config.pbtxt").write_text(text)
    (problem,) = inspect_repository(tmp_path)["problems"]
    assert (problem["code"], problem["fix"]) == ("EnsembleStepUnknown", None)
    assert problem["hints"] == ["add the model"]


@pytest.mark.parametrize("kind", ["kind: KIND_GPU\n    gpus: [ 0, 1 ]", "kind: KIND_GPU"])
def test_instances_on_gpus_are_a_warning_with_a_way_out(kind: str) -> None:
    groups = f"instance_group [\n  {{\n    count: 2\n    {kind}\n  }}\n]\n"
    head = 'name: "m"\nbackend: "onnxruntime"\nmax_batch_size: 8\ndynamic_batching { }\n'
    text = head + IO + groups
    answer = validate_text(text, "m", None)
    assert answer["ok"]
    (problem,) = answer["problems"]
    assert (problem["code"], problem["severity"], problem["line"]) == ("GpuNeeded", "warning", 10)
    mended = problem["fix"]["text"]
    assert mended == text.replace(kind, "kind: KIND_AUTO")
    assert not validate_text(mended, "m", None)["problems"]


def test_a_warning_is_said_once_for_a_model_on_disk(tmp_path: Path) -> None:
    text = PREPROCESS.replace('"preprocess"', '"m"') + "instance_group { kind: KIND_GPU }\n"
    python_model(tmp_path, "m", text)
    codes = [problem["code"] for problem in inspect_repository(tmp_path)["problems"]]
    assert codes.count("GpuNeeded") == 1


def test_engines_of_tensorrt_are_on_gpus_anyway() -> None:
    text = f'name: "m"\nbackend: "tensorrt"\ninstance_group {{ kind: KIND_GPU }}\n{IO}'
    answer = validate_text(text, "m", None)
    assert "GpuNeeded" not in {problem["code"] for problem in answer["problems"]}


def test_an_ensemble_is_checked_against_its_neighbours_in_the_editor() -> None:
    text = ENSEMBLE.replace("preproces", "preprocess").replace("TYPE_UINT8", "TYPE_FP32", 1)
    answer = validate_text(text, "pipeline", None, {"preprocess": PREPROCESS})
    (problem,) = answer["problems"]
    assert problem["code"] == "EnsembleMismatch"
    assert "inconsistent data type" in problem["message"]
    assert problem["field"] == "ensemble_scheduling[0].step[0]"
    assert text.splitlines()[problem["line"] - 1].strip().startswith(("step", "{"))


def test_an_ensemble_whose_batches_are_larger_than_its_models_take() -> None:
    """Triton finds out when it loads; here it is said before."""
    text = ENSEMBLE.replace("preproces", "preprocess").replace(
        'platform: "ensemble"\n', 'platform: "ensemble"\nmax_batch_size: 16\n'
    )
    answer = validate_text(text, "pipeline", None, {"preprocess": PREPROCESS})
    (problem,) = answer["problems"]
    assert problem["plain"] == (
        "This ensemble allows batches of 16, but 'preprocess' takes 8 at most."
    )
    assert problem["fix"]["label"] == "Set max_batch_size: 8"
    mended = problem["fix"]["text"]
    assert validate_text(mended, "pipeline", None, {"preprocess": PREPROCESS})["ok"]


def test_what_python_code_names_and_the_configuration_does_not(tmp_path: Path) -> None:
    code = MODEL.replace(
        "return []",
        'pb_utils.get_input_tensor_by_name(requests[0], "RAWS")\n        return []',
    )
    python_model(tmp_path, "preprocess", PREPROCESS, code)
    (problem,) = inspect_repository(tmp_path)["problems"]
    assert (problem["code"], problem["severity"]) == ("PythonTensorUnknown", "warning")
    assert "'RAWS'" in problem["message"]


def test_what_other_models_are_asked_with_is_no_output(tmp_path: Path) -> None:
    code = MODEL.replace(
        "return []",
        'pb_utils.InferenceRequest(model_name="m", inputs=[pb_utils.Tensor("TEXT", 1)])\n'
        "        return []",
    )
    python_model(tmp_path, "preprocess", PREPROCESS, code)
    assert inspect_repository(tmp_path)["problems"] == []


def test_every_fix_ends(tmp_path: Path) -> None:
    """Several mistakes at once are mended one after another; comments stay."""
    text = (
        '# mine\nname: "other"\nbackend: "onnx_runtime"\nmax_batch_size: 4\n'
        'input [ { name: "x" data_type: TYPE_INT8 dims: [ -1, 3 ] } ] # two\n'
        'output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]\n'
    )
    om.save(tmp_path, "m", om.identity(om.FP32, "N", 3, source="x", target="y"), text)
    answer = inspect_repository(tmp_path)
    codes = [problem["code"] for problem in answer["problems"]]
    assert codes == ["NameMismatch", "BackendUnknown", "DatatypeMismatch", "BatchDimInDims"]
    (model,) = answer["models"]
    assert model["proposal"]["text"].startswith('# mine\nname: "m"\nbackend: "onnxruntime"\n')
    assert "dims: [ 3 ] } ] # two" in model["proposal"]["text"]
    assert model["inputs"][0]["datatype"] == "FP32"

"""Every mistake that the wizard knows: the explanation, Triton's own text beside it, the fix."""

from typing import Any

import pytest

from worker_runtime.errors import Problem
from worker_runtime.inspection.explanations import explain
from worker_runtime.inspection.validation import validate_text

GRAPH = {
    "backend": "onnxruntime",
    "inputs": [{"name": "data", "datatype": "FP32", "shape": ["N", 3, 8]}],
    "outputs": [{"name": "users", "datatype": "INT64", "shape": ["N", 10]}],
}
FIXED: dict[str, Any] = {
    "backend": "onnxruntime",
    "inputs": [{"name": "data", "datatype": "FP32", "shape": [1, 3, 8]}],
    "outputs": [{"name": "users", "datatype": "INT64", "shape": [1, 10]}],
}
DATA = 'input [ { name: "data" data_type: TYPE_FP32 dims: [ 3, 8 ] } ]\n'
USERS = 'output [ { name: "users" data_type: TYPE_INT64 dims: [ 10 ] } ]\n'
IO = DATA + USERS
BATCHED = f"max_batch_size: 32\n{IO}"
QUEUE = "dynamic_batching {{ {} }}\n"
ENSEMBLE = """name: "m"
platform: "ensemble"
{extra}input [ {{ name: "a" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "{output}" data_type: TYPE_FP32 dims: [ 1 ] }} ]
ensemble_scheduling {{ step [ {{
  model_name: "one" model_version: -1
  input_map {{ key: "x" value: "a" }}
  output_map {{ key: "y" value: "b" }}
}} ] }}
"""

# what is written, about which graph, the explanation, the label of the fix ("" where there is none)
ERRORS = [
    (BATCHED.replace('"data"', '"x"'), GRAPH,
     "Input 'x' is not in the model. The model has: data.", 'Write "data"'),
    (BATCHED.replace("TYPE_INT64", "TYPE_FP32"), GRAPH,
     "The model's 'users' is INT64; the config says FP32.", "Write TYPE_INT64"),
    (BATCHED.replace("[ 3, 8 ]", "[ -1, 3, 8 ]"), GRAPH,
     "The batch axis must not be listed in dims when max_batch_size is above 0.",
     "Write dims: [3, 8]"),
    (BATCHED, FIXED,
     "This model has a fixed first axis of 1. Set max_batch_size to 0.", "Set max_batch_size: 0"),
    (f"max_batch_size: 8\nbackend: \"b\"\n{IO}".replace("[ 3, 8 ]", "[ 0, 8 ]"), None,
     "Use whole numbers of at least 1, or -1 for a variable axis.", ""),
    (f'backend: "b"\n{USERS}input [ {{ name: "s" data_type: TYPE_FP32 dims: [ 1 ]\n'
     "  reshape { shape: [ ] }\n} ]\n", None,
     "Scalar tensors are not supported.", "Remove reshape"),
    (f'backend: "b"\n{USERS}input [ {{ name: "s" data_type: TYPE_FP32 dims: [ 4 ]\n'
     "  reshape { shape: [ 5 ] }  # five\n} ]\n", None,
     "dims and reshape must hold the same number of elements.", "Remove reshape"),
    (f'backend: "b"\n{USERS}input [ {{ name: "s" data_type: TYPE_FP32 dims: [ -1 ]\n'
     "  reshape { shape: [ -1, -1 ] }\n} ]\n", None,
     "dims and reshape must hold the same number of -1 axes.", "Remove reshape"),
    (f'backend: "b"\nmax_batch_size: -1\n{IO}', None,
     "Must be 0 or more.", "Set max_batch_size: 0"),
    (BATCHED + QUEUE.format("preferred_batch_size: [ 8, 64 ]"), GRAPH,
     "64 is larger than max_batch_size (32).", "Remove 64"),
    (BATCHED + QUEUE.format("preferred_batch_size: [ 64, 128, 8 ]"), GRAPH,
     "64, 128 are larger than max_batch_size (32).", "Remove 64, 128"),
    (BATCHED + QUEUE.format("preferred_batch_size: [ 0 ]"), GRAPH, "Must be at least 1.", ""),
    (f"{BATCHED}instance_group [ {{\n  kind: KIND_CPU\n  gpus: [ 0, 1 ]\n}} ]\n", GRAPH,
     "KIND_CPU cannot list GPUs.", "Remove gpus"),
    (f"{BATCHED}instance_group [ {{ kind: KIND_MODEL gpus: [ 0 ] }} ]\n", GRAPH,
     "KIND_MODEL cannot list GPUs.", "Remove gpus"),
    (f"{BATCHED}instance_group [ {{ kind: KIND_GPU profile: [ \"1\" ] }} ]\n", GRAPH,
     "Only for TensorRT models.", "Remove profile"),
    (BATCHED.replace("[ 3, 8 ]", "[ 3, 8 ] is_shape_tensor: true"), GRAPH,
     "Only for TensorRT models.", "Remove is_shape_tensor"),
    (BATCHED.replace("[ 3, 8 ]", "[ 3, 8 ] is_non_linear_format_io: true"), GRAPH,
     "Only for TensorRT models.", "Remove is_non_linear_format_io"),
    (f"{BATCHED}sequence_batching {{ }}\nresponse_cache {{ enable: true }}\n", GRAPH,
     "Response cache does not work with sequence batching or decoupled models.",
     "Switch the cache off"),
    (f"{BATCHED}model_transaction_policy {{ decoupled: true }}\n"
     "response_cache { enable: true }\n", GRAPH,
     "Response cache does not work with sequence batching or decoupled models.",
     "Switch the cache off"),
    (BATCHED + QUEUE.format(
        "priority_levels: 2 default_priority_level: 1 preserve_ordering: true"), GRAPH,
     "Only one priority level when preserve_ordering is on.", "Set priority_levels: 1"),
    (ENSEMBLE.format(extra="instance_group [ { count: 2 } ]\n", output="b"), None,
     "An ensemble cannot have an instance group.", "Remove instance_group"),
    (ENSEMBLE.format(extra="", output="c"), None,
     "Tensor 'c' is never produced: no step writes it.", ""),
    (ENSEMBLE.format(extra="", output="b").replace('value: "a"', 'value: "z"'), None,
     "Tensor 'a' is never used.", ""),
    (f'platform: "nonsense"\n{IO}', None,
     'Set a backend or platform. For an ONNX file: backend: "onnxruntime".', ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "graph", "plain", "label"), ERRORS)
def test_each_mistake_has_its_explanation_and_its_fix(
    text: str, graph: dict[str, Any] | None, plain: str, label: str
) -> None:
    answer = validate_text(text, "m", graph)
    found = {problem["plain"]: problem for problem in answer["problems"]}
    assert plain in found, answer["problems"]
    problem = found[plain]
    assert problem["severity"] == "error"
    assert problem["message"], "Triton's own text stays"
    assert (problem["fix"] or {"label": ""})["label"] == label
    if label:
        after = validate_text(problem["fix"]["text"], "m", graph)
        assert plain not in [item["plain"] for item in after["problems"]]


WARNINGS = [
    (BATCHED + QUEUE.format("max_queue_delay_microseconds: 10000"),
     "warning", "Every request may wait up to 10 ms in the queue.", "Set 1,000 \u00b5s"),
    (BATCHED,
     "info", "Dynamic batching is off. Concurrent requests run one by one.", "Switch it on"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "severity", "plain", "label"), WARNINGS)
def test_what_is_allowed_but_seldom_meant(text: str, severity: str, plain: str, label: str) -> None:
    answer = validate_text(text, "m", GRAPH)
    assert answer["ok"]
    (problem,) = answer["problems"]
    assert (problem["severity"], problem["plain"]) == (severity, plain)
    assert problem["fix"]["label"] == label
    assert validate_text(problem["fix"]["text"], "m", GRAPH)["problems"] == []


@pytest.mark.parametrize(
    "text",
    [
        BATCHED + QUEUE.format("max_queue_delay_microseconds: 5000"),
        f"max_batch_size: 1\n{IO}",
        f"{BATCHED}sequence_batching {{ }}\n",
        f"{BATCHED}model_transaction_policy {{ decoupled: true }}\n",
    ],
)
def test_what_is_meant_is_not_warned_about(text: str) -> None:
    assert validate_text(text, "m", GRAPH)["problems"] == []


def test_advice_waits_until_the_errors_are_gone() -> None:
    text = BATCHED.replace('"data"', '"x"')
    severities = {problem["severity"] for problem in validate_text(text, "m", GRAPH)["problems"]}
    assert severities == {"error"}


def test_weights_without_a_model() -> None:
    problem = Problem(
        "NotATorchModel", "'w.pt' was written by torch.save: loading it would run ..."
    )
    assert explain(problem).plain == (
        "This file holds weights only. Export it with `torch.jit.script` or `torch.onnx.export`."
    )


def test_external_data_that_is_missing_is_named() -> None:
    detail = 'FAIL : External data path does not exist: "/work/x/1/model.onnx.data"'
    problem = explain(Problem("ModelLoadFailed", "cannot load", detail=detail))
    assert (problem.code, problem.plain) == (
        "ExternalDataMissing",
        "The model needs model.onnx.data. Drop it here too.",
    )


def test_a_finding_without_a_rule_stays_as_it_is() -> None:
    problem = Problem("ConfigInvalid", "something new")
    assert explain(problem, 'name: "m"') == problem

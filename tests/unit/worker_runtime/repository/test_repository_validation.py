"""Every rule about configurations, held against what Triton 2.51 said to the same text.

``triton_answers.json`` was taken from a real server: models of the Python backend without a GPU,
loaded with the text as config.pbtxt; either the error or the configuration as it was served.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.config_json import from_json, to_json
from worker_runtime.repository.layout import read_model
from worker_runtime.repository.normalise import normalise, unsupported_backend, versions_to_serve
from worker_runtime.repository.pbtxt import parse, places, render
from worker_runtime.repository.validation import (
    check_configuration,
    check_devices,
    check_model,
    validate,
)
from worker_runtime.types.instances import Machine

ANSWERS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "triton_answers.json").read_text(encoding="utf-8")
)
NO_GPU = Machine(cores=2)


def load(name: str, text: str, root: Path) -> tuple[str, Any]:
    """(first error, configuration), one of them empty: the steps of a load without the model."""
    version = root / name / "1"
    version.mkdir(parents=True)
    (version / "model.py").touch()
    directory, where = read_model(root / name), places(text)
    config = parse(text)
    try:
        normalise(config, directory, NO_GPU)
        versions_to_serve(config, directory)
    except ConfigInvalid as error:
        return str(error), None
    found = check_configuration(config, where)
    unknown = unsupported_backend(config)
    if unknown is not None and config.backend != "python":
        found.append(unknown)
    found += check_devices(config, where, NO_GPU) + check_model(config, where)
    errors = [problem.message for problem in found if problem.severity == "error"]
    return (errors[0], None) if errors else ("", config)


@pytest.mark.parametrize("name", [name for name, row in ANSWERS.items() if "error" in row])
def test_refused_in_tritons_words(name: str, tmp_path: Path) -> None:
    error, _ = load(name, ANSWERS[name]["text"], tmp_path)
    assert error == ANSWERS[name]["error"]


@pytest.mark.parametrize("name", [name for name, row in ANSWERS.items() if "config" in row])
def test_served_as_triton_serves_it(name: str, tmp_path: Path) -> None:
    error, config = load(name, ANSWERS[name]["text"], tmp_path)
    assert error == ""
    served, expected = to_json(config), ANSWERS[name]["config"]
    assert served == expected
    assert list(served) == list(expected)
    assert list(served["instance_group"][0]) == list(expected["instance_group"][0])


@pytest.mark.parametrize("name", [name for name, row in ANSWERS.items() if "config" in row])
def test_what_is_served_can_be_loaded_again(name: str) -> None:
    config = from_json(ANSWERS[name]["config"])
    assert from_json(to_json(config)) == config
    assert parse(render(config)) == config


MODEL = 'name: "m" backend: "identity"\n'
IO = (
    'input { name: "x" data_type: TYPE_FP32 dims: [1] }\n'
    'output { name: "y" data_type: TYPE_FP32 dims: [1] }\n'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "model_metrics { metric_control { histogram_options { buckets: [1] } } }",
            "metric control must specify 'metric_identifier'",
        ),
        (
            "model_metrics { metric_control { metric_identifier {} "
            "histogram_options { buckets: [1] } } }",
            "metric identifier must specify non-empty 'family'",
        ),
        (
            'model_metrics { metric_control { metric_identifier { family: "f" } } }',
            "metric control must specify 'histogram_options'",
        ),
        (
            'model_metrics { metric_control { metric_identifier { family: "f" } '
            "histogram_options {} } }",
            "histogram options must specify non-empty 'buckets'",
        ),
        (
            'model_warmup { name: "w" inputs { key: "x" value { dims: [1] } } }',
            "[request id: <id_unknown>] warmup setting expects input 'x' to have input_data_type "
            "set",
        ),
        (
            "sequence_batching { state { input_name: 'i' dims: [1] } }",
            "state input 'i' must specify 'data_type' for m",
        ),
        (
            'platform: "ensemble"',
            "Ensemble model 'm' must have platform type 'ensemble' and empty backend type",
        ),
        (
            "sequence_batching { state { input_name: 'i' data_type: TYPE_FP32 dims: [1, 2] "
            "initial_state { name: 's' data_type: TYPE_FP32 dims: [1] zero_data: true } } }",
            "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions "
            "for state input 'i'. 1 != 2",
        ),
    ],
)
def test_rules_that_the_answers_do_not_cover(text: str, message: str) -> None:
    assert message in [problem.message for problem in findings(MODEL + IO + text)]


def findings(text: str) -> list[Problem]:
    return validate(parse(text), places(text))


@pytest.mark.parametrize(
    ("text", "field", "line", "detail"),
    [
        ("\nmax_batch_size: -1", "max_batch_size", 5, "got -1; expected 0 "),
        (
            "max_batch_size: 4\ndynamic_batching { preferred_batch_size: [9] }",
            "dynamic_batching[0].preferred_batch_size",
            5,
            "got 9; expected 1 to 4",
        ),
        ('batch_input { source_input: "a" }', "batch_input[0].source_input", 4, "one of x"),
        ("instance_group { kind: KIND_CPU gpus: [1] }", "instance_group[0].gpus", 4, "got [1]"),
        (
            "sequence_batching {\n control_input {\n name: 'c' control { kind: "
            "CONTROL_SEQUENCE_END int32_false_true: [1] } } }",
            "sequence_batching[0].control_input[0].control[0].int32_false_true",
            6,
            "got [1]; expected the values for false and for true",
        ),
    ],
)
def test_findings_name_field_place_value_and_expectation(
    text: str, field: str, line: int, detail: str
) -> None:
    found = next(problem for problem in findings(MODEL + IO + text) if problem.field == field)
    assert found.line == line
    assert detail in found.detail


def test_all_findings_are_told_not_only_the_first() -> None:
    text = MODEL + "max_batch_size: -1\ninput { name: 'x' dims: [0] }"
    assert len([p for p in findings(text) if p.severity == "error"]) == 3


def test_devices_are_those_of_the_machine() -> None:
    config = parse(MODEL + "instance_group { kind: KIND_GPU gpus: [0, 3] }")
    (found,) = check_devices(config, {}, Machine(cores=2, gpus=2))
    assert found.message.endswith(
        "specifies invalid or unsupported gpu id 3. GPUs with at least the minimum required CUDA "
        "compute compatibility of 6.000000 are: 0, 1"
    )
    assert not check_devices(config, {}, Machine(cores=2, gpus=4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('backend: "identity" runtime: "libtriton_identity.so"', ""),
        ('backend: "python" runtime: "model.py"', ""),
        ('platform: "ensemble"', ""),
        (
            'backend: "identity" runtime: "libx.so"',
            "unable to find backend library 'libx.so' for model 'm'",
        ),
        (
            'backend: "nope"',
            "unable to find backend library for backend 'nope', try specifying runtime on the "
            "model configuration.",
        ),
    ],
)
def test_backends_are_those_that_are_built_in(text: str, message: str) -> None:
    found = unsupported_backend(parse(f'name: "m" {text}'))
    assert (found.message if found else "") == message


def test_metrics_that_cannot_be_customized_are_a_warning() -> None:
    text = (
        "model_metrics { metric_control { metric_identifier { family: 'nv_cache' } "
        "histogram_options { buckets: [1] } } }"
    )
    (found,) = findings(MODEL + IO + text)
    assert (found.severity, found.line) == ("warning", 4)
    assert found.message == (
        "Metric family 'nv_cache' in 'metric_identifier' is not a customizable metric in Triton "
        "core."
    )

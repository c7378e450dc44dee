"""config.pbtxt: every way of writing it, errors with places and fixes, and the way back."""

import pytest
from google.protobuf import json_format, text_format
from tritonclient.grpc import model_config_pb2

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.config_json import from_json, to_json
from worker_runtime.repository.pbtxt import parse, places, render
from worker_runtime.repository.validation import validate

FULL = """
name: "m"  # a comment
platform: 'onnxruntime_onnx';
max_batch_size: 8
input [
  { name: "a/b:0" data_type: TYPE_FP32 dims: [ 3, -1 ] reshape { shape: [ 3, 1, -1 ] } },
  { name: "scale_0.tmp_1", data_type: TYPE_STRING, dims: 1 }
]
output { name: "y" data_type: TYPE_FP16 dims: [ 2 ] label_filename: "labels.txt" }
instance_group [ { count: 2 kind: KIND_CPU } ]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 100
  priority_levels: 2
  default_priority_level: 1
  priority_queue_policy { key: 1 value { max_queue_size: 3 } }
}
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
parameters: { key: "k", value: { string_value: "v" } }
"""


def broken(text: str) -> Problem:
    with pytest.raises(ConfigInvalid) as caught:
        parse(text)
    return caught.value.problems[0]


@pytest.mark.parametrize(
    "text",
    [
        'output {\n  name: "a"\n  data_type: 33333333333333333333 }',
        "output { }\n\n  input { data_type: -33333333333333333333 }",
        "output { }\n\n  input { format: 33333333333333333333 }",
    ],
)
def test_numbers_that_no_enum_can_hold_are_refused_where_they_stand(text: str) -> None:
    problem = broken(text)
    assert "out of range" in problem.message
    assert problem.line == 3
    assert text.split("\n")[2][problem.column - 1 :].startswith(("3333", "-333"))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('name: "m"\nparameters { key: "a\0b" }', 2, 21),
        ("# a\0", 1, 4),
        ('\0name: "m"', 1, 1),
        ('name:\n\0 "m"', 2, 1),
    ],
)
def test_u_0000_is_refused_where_it_stands(text: str, line: int, column: int) -> None:
    problem = broken(text)
    assert problem.message == "The character U+0000 cannot stand here"
    assert (problem.line, problem.column) == (line, column)


def test_whole_numbers_have_no_fraction_in_json() -> None:
    config = parse(
        "sequence_batching { direct { minimum_slot_utilization: 1 } control_input { name: 'C' "
        "control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 0.5 ] } } }"
    )
    batching = to_json(config)["sequence_batching"]
    assert repr(batching["direct"]["minimum_slot_utilization"]) == "1"
    assert repr(batching["control_input"][0]["control"][0]["fp32_false_true"]) == "[0, 0.5]"
    assert from_json(to_json(config)) == config


def test_the_printer_round_trips() -> None:
    config = parse(FULL)
    assert parse(render(config)) == config


def test_json_round_trips_and_has_numbers_for_wide_integers() -> None:
    config = parse(FULL)
    data = to_json(config)
    assert data["dynamic_batching"]["max_queue_delay_microseconds"] == 100
    assert data["input"][0]["dims"] == [3, -1]
    assert data["input"][0]["reshape"]["shape"] == [3, 1, -1]
    assert data["dynamic_batching"]["priority_queue_policy"]["1"]["max_queue_size"] == 3
    assert data["model_warmup"] == []
    assert from_json(data) == config


def test_bad_json_is_refused() -> None:
    with pytest.raises(ConfigInvalid, match="no_such"):
        from_json({"no_such": 1})


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "fixed"),
    [
        ('name: "m"\nmax_batch: 3\n', 2, 1, 'unknown field "max_batch"', "max_batch_size: 3"),
        ('input { name: "x" data_type: FP32 }', 1, 30, "FP32 is not a value", "TYPE_FP32"),
        ("instance_group { kind: CPU }", 1, 24, "CPU is not a value of Kind", "KIND_CPU"),
        (
            'input {\n  name: "x"\n  dim: [1]\n}',
            3,
            3,
            'unknown field "dim" in ModelInput',
            "dims: [1]",
        ),
        ('max_batch_size: "x"', 1, 17, "Couldn't parse integer", ""),
        ('input { name: "a"', 1, 18, 'Expected "}"', ""),
    ],
)
def test_parse_errors_point_at_the_place(
    text: str, line: int, column: int, message: str, fixed: str
) -> None:
    problem = broken(text)
    assert message in problem.message
    assert problem.line == line
    if fixed:
        assert problem.column == column
        assert fixed in problem.fix
        parse(problem.fix)


def test_places_are_found_however_the_file_is_written() -> None:
    found = places(FULL)
    assert found["max_batch_size"][:2] == (4, 1)
    assert found["input[1].name"].line == 7
    assert found["input[0].reshape[0].shape"].line == 6
    assert found["dynamic_batching[0].preferred_batch_size"].value == "["
    assert found["output[0].label_filename"].value == '"labels.txt"'
    assert found["parameters[1].key"].line == 19


def test_places_survive_broken_text() -> None:
    assert "name" in places('name: "x"\ninput [ { name: ')
    assert places("{{{{") == {}


def test_a_complete_configuration_has_no_findings() -> None:
    text = 'name: "m" backend: "onnxruntime"' + FULL.replace('name: "m"', "")
    assert validate(parse(text), places(text)) == []


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('input { name: "x" data_type: 99 dims: 1 }', "input.data_type"),
        ('output { name: "x" data_type: -1 dims: 1 }', "output.data_type"),
        ("instance_group { kind: 17 }", "instance_group.kind"),
        ('model_warmup { inputs { key: "a" value { data_type: 77 } } }', "inputs.data_type"),
        ("batch_input { kind: 12 }", "batch_input.kind"),
    ],
)
def test_numbers_that_stand_for_no_value_are_refused(text: str, field: str) -> None:
    """They ended validation, and loads, with a KeyError."""
    problem = broken(text)
    assert f"{field} is no value of " in problem.message
    assert text[problem.column - 1 :].startswith(problem.message.rpartition(" ")[2])
    message = model_config_pb2.ModelConfig()
    text_format.Parse(text, message)
    with pytest.raises(ConfigInvalid, match=rf"{field} is no value of \w+: -?\d+"):
        from_json(json_format.MessageToDict(message, preserving_proto_field_name=True))

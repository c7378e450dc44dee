"""From `sequence_batching` to what the scheduler works with, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worker_runtime.core.execution.sequence_tensors import ControlKind, Controls, ControlSpec
from worker_runtime.core.scheduling.base import Delays
from worker_runtime.core.scheduling.sequence.config import SequenceConfig, sequence_config
from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.pbtxt import parse
from worker_runtime.repository.sequence_rules import check_sequence_tensors
from worker_runtime.types.request import SequencePart
from worker_runtime.types.signature import GraphTensor, ModelGraph
from worker_runtime.types.tensor import BY_NAME

STATE = 'input_name: "in" output_name: "out" data_type: TYPE_INT32 dims: [ 2 ]'


def read(text: str, directory: Path = Path(), batch: int = 4, extra: str = "") -> SequenceConfig:
    config = parse(f'name: "m" max_batch_size: {batch} {extra} sequence_batching {{ {text} }}')
    found = sequence_config(config, directory)
    assert found is not None
    return found


def initial(text: str, directory: Path = Path(), state: str = STATE, batch: int = 4) -> Any:
    (found,) = read(f"state {{ {state} initial_state {{ {text} }} }}", directory, batch).states
    return found.initial


def test_models_without_sequence_batching_have_none() -> None:
    assert sequence_config(parse('name: "m"'), Path()) is None


def test_defaults() -> None:
    found = read("")
    assert (found.slots, found.idle_ns, found.oldest) == (4, 1_000_000_000, None)
    assert read("", batch=0).slots == 1
    assert read("oldest { max_candidate_sequences: 7 }").slots == 7
    assert read("oldest { }").slots == 4


def test_the_strategies() -> None:
    found = read("direct { max_queue_delay_microseconds: 5 minimum_slot_utilization: 0.5 }")
    assert (found.delay_ns, found.utilization) == (5000, 0.5)
    found = read(
        "oldest { preferred_batch_size: [ 4, 2 ] max_queue_delay_microseconds: 7 } "
        "max_sequence_idle_microseconds: 9 iterative_sequence: true"
    )
    assert found.oldest is not None
    assert (found.oldest.preferred, found.oldest.delay_ns) == ((2, 4), 7000)
    assert (found.idle_ns, found.iterative) == (9000, True)


def test_our_own_bound_of_the_backlog() -> None:
    def parameter(value: str) -> str:
        return (
            'parameters { key: "shoal_max_backlog_sequences" '
            f'value {{ string_value: "{value}" }} }}'
        )

    assert read("", extra=parameter("12")).backlog_limit == 12
    with pytest.raises(ConfigInvalid, match="expected a whole number"):
        read("", extra=parameter("-1"))


@pytest.mark.parametrize(
    ("kind", "values", "datatype", "seen"),
    [
        ("START", "int32_false_true: [ -1, 7 ]", "INT32", [7, -1, -1, -1]),
        ("END", "fp32_false_true: [ 0.5, 2.0 ]", "FP32", [0.5, 2.0, 0.5, 0.5]),
        ("READY", "bool_false_true: [ false, true ]", "BOOL", [True, True, True, False]),
        ("CORRID", "data_type: TYPE_INT64", "INT64", [9, 9, 9, 0]),
    ],
)
def test_controls(kind: str, values: str, datatype: str, seen: list[Any]) -> None:
    found = read(
        f'control_input {{ name: "c" control {{ kind: CONTROL_SEQUENCE_{kind} {values} }} }}'
    )
    controls = Controls(found.controls, batched=True)
    (planned,) = controls.planned
    assert (planned.name, planned.datatype.name, planned.shape) == ("c", datatype, (1, 1))
    parts = [SequencePart(9, start=True), SequencePart(9, end=True), SequencePart(9), None]
    arrays = [controls.buffers(part)[0] for part in parts]
    assert [array.item() for array in arrays] == seen
    assert all(array.dtype == planned.datatype.dtype for array in arrays)


@pytest.mark.parametrize(
    ("datatype", "number", "seen"),
    [
        ("UINT64", 2**64 - 1, 2**64 - 1),
        ("INT64", 2**64 - 1, -1),
        ("UINT32", 2**32 + 5, 5),
        ("INT32", 2**32 - 1, -1),
    ],
)
def test_correlation_ids_keep_their_low_bytes(datatype: str, number: int, seen: int) -> None:
    spec = ControlSpec("c", ControlKind.CORRID, BY_NAME[datatype])
    (array,) = Controls([spec], batched=False).buffers(SequencePart(number))
    assert (array.shape, array.item()) == ((1,), seen)


def test_a_text_is_the_correlation_id() -> None:
    controls = Controls([ControlSpec("c", ControlKind.CORRID, BY_NAME["BYTES"])], batched=False)
    assert controls.buffers(SequencePart("ä"))[0].tolist() == ["ä".encode()]
    assert controls.buffers(None)[0].tolist() == [b""]


def test_a_state_begins_with_zeros_and_variable_dims_of_one() -> None:
    (found,) = read(f"state {{ {STATE.replace('[ 2 ]', '[ 2, -1 ]')} }}").states
    assert found.initial.tolist() == [[[0], [0]]]
    (found,) = read(f"state {{ {STATE} }}", batch=0).states
    assert found.initial.tolist() == [0, 0]
    text = STATE.replace("TYPE_INT32", "TYPE_STRING")
    (found,) = read(f"state {{ {text} }}").states
    assert found.initial.tolist() == [[b"", b""]]


def test_names_given_twice_are_ignored() -> None:
    assert len(read(f"state {{ {STATE} }} state {{ {STATE} }}").states) == 1


INITIAL = 'name: "i" data_type: TYPE_INT32 dims: [ 2 ]'


def test_initial_states_come_from_zeros_or_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "initial_state"
    folder.mkdir()
    (folder / "f").write_bytes(np.array([5, -6, 7], "<i4").tobytes())
    (folder / "t").write_bytes(b"\x02\0\0\0hi\x01\0\0\0!")
    assert initial(f"{INITIAL} zero_data: true").tolist() == [[0, 0]]
    assert initial(f'{INITIAL} data_file: "f"', tmp_path).tolist() == [[5, -6]]
    text = [item.replace("TYPE_INT32", "TYPE_STRING") for item in (INITIAL, STATE)]
    found = initial(f'{text[0]} data_file: "t"', tmp_path, text[1])
    assert found.tolist() == [[b"hi", b"!"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name: "i" data_type: TYPE_FP32 dims: [ 2 ] zero_data: true',
         "The data type used for 'initial_state' field of state 'in' does not match the state data "
         "type."),
        ("data_type: TYPE_INT32 dims: [ 2 ] zero_data: true",
         "Field 'name' must be set when using initial_state for state input 'in'."),
        ('name: "i" data_type: TYPE_INT32 dims: [ 2, 1 ] zero_data: true',
         "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for "
         "state input 'in'. 2 != 1"),
        ('name: "i" data_type: TYPE_INT32 dims: [ -1 ] zero_data: true',
         "'initial_state' field for state input name 'in' contains variable dimensions."),
        ('name: "i" data_type: TYPE_INT32 dims: [ 3 ] zero_data: true',
         "'initial_state' dim for input name 'in' doesn't match 'state' dim description. 3 != 2"),
        (INITIAL, "initial_state setting expects state'in' to have state_data set"),
        (f'{INITIAL} data_file: "short"',
         "initial_state setting expects 8 bytes, but the data provided from shortonly has 3 "
         "bytes."),
    ],
)  # fmt: skip
def test_initial_states_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "initial_state").mkdir()
    (tmp_path / "initial_state" / "short").write_bytes(b"abc")
    with pytest.raises(ConfigInvalid) as caught:
        initial(text, tmp_path)
    assert str(caught.value) == message


def test_a_state_has_one_initial_state() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        read(f"state {{ {STATE} initial_state {{ {INITIAL} }} initial_state {{ {INITIAL} }} }}")
    assert str(caught.value) == (
        "initial_state field for state input 'in' must contain exactly one or zero element. Found "
        "'2' elements."
    )


GRAPH = ModelGraph(
    inputs=(
        GraphTensor("x", "INT32", ("N", 1)),
        GraphTensor("c", "INT32", ("N", 1)),
        GraphTensor("wide", "INT32", ("N", 2)),
        GraphTensor("in", "INT32", ("N", 2)),
    ),
    outputs=(GraphTensor("out", "INT32", ("N", 2)),),
)


def control(name: str, values: str = "int32_false_true: [ 0, 1 ]") -> str:
    return f'control_input {{ name: "{name}" control {{ kind: CONTROL_SEQUENCE_START {values} }} }}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (control("none"),
         "configuration specified sequence control 'none', but model does not provide that input"),
        (control("wide"),
         "unable to load model 'm', sequence control 'wide' in model has dims [2] but dims [1] is "
         "expected"),
        (control("c", "fp32_false_true: [ 0, 1 ]"),
         "unable to load model 'm', sequence control 'c', the model expects data-type TYPE_INT32 "
         "but the model configuration specifies data-type TYPE_FP32"),
        (f"state {{ {STATE} }}", ""),
        ('state { input_name: "in" output_name: "gone" data_type: TYPE_INT32 dims: [ 2 ] }',
         "configuration specified sequence state 'gone', but model does not provide that output"),
        (control("c"), ""),
    ],
)  # fmt: skip
def test_the_graph_must_have_what_is_spoken_of(text: str, message: str) -> None:
    config = parse(f'name: "m" max_batch_size: 4 sequence_batching {{ {text} }}')
    if not message:
        check_sequence_tensors(config, GRAPH)
        return
    with pytest.raises(ConfigInvalid) as caught:
        check_sequence_tensors(config, GRAPH)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("12", 12), (" +3x", 3), ("-4", 0), ("x", 0)]
)
def test_the_environment_is_read_as_atoi_does(text: str, number: int) -> None:
    assert Delays.of({"TRITONSERVER_DELAY_SCHEDULER": text}) == Delays(queued=number)

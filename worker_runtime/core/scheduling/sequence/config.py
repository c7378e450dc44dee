"""The sequence batching part of a configuration, read once when a model is loaded."""

from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from worker_runtime.backends.base import Array
from worker_runtime.core.execution.sequence_tensors import ControlKind, ControlSpec, StateSpec
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.errors import ConfigInvalid, FileUnreadable, Problem
from worker_runtime.files.inside import inside
from worker_runtime.types.signature import BatchTensors, batch_tensors_of
from worker_runtime.types.tensor import BY_NAME, BY_NUMBER, DataType, element_count

BACKLOG_PARAMETER = "shoal_max_backlog_sequences"
_DEFAULT_IDLE_US = 1_000_000
_FOLDER = "initial_state"


class SequenceConfig(Struct, frozen=True):
    """``slots`` per instance. ``oldest`` None: the direct strategy. ``backlog_limit`` 0: none."""

    slots: int
    idle_ns: int
    controls: tuple[ControlSpec, ...] = ()
    states: tuple[StateSpec, ...] = ()
    oldest: BatchingConfig | None = None
    delay_ns: int = 0
    utilization: float = 0.0
    iterative: bool = False
    backlog_limit: int = 0
    decoupled: bool = False
    tensors: BatchTensors | None = None


def sequence_config(config: Any, directory: Path) -> SequenceConfig | None:
    """None when the model does not batch sequences; ``directory`` holds ``initial_state/``.

    Raises ConfigInvalid, for a file of an initial state too. Reads files: not in the event loop.
    """
    if not config.HasField("sequence_batching"):
        return None
    batching = config.sequence_batching
    rows = max(1, config.max_batch_size)
    oldest = None
    if batching.HasField("oldest"):
        oldest = BatchingConfig(
            max_rows=rows,
            preferred=tuple(sorted(batching.oldest.preferred_batch_size)),
            delay_ns=batching.oldest.max_queue_delay_microseconds * 1000,
            dynamic=rows > 1,
        )
    return SequenceConfig(
        slots=(oldest is not None and batching.oldest.max_candidate_sequences) or rows,
        idle_ns=(batching.max_sequence_idle_microseconds or _DEFAULT_IDLE_US) * 1000,
        controls=tuple(_controls(config)),
        states=_states(config, directory),
        oldest=oldest,
        delay_ns=batching.direct.max_queue_delay_microseconds * 1000,
        utilization=batching.direct.minimum_slot_utilization,
        iterative=batching.iterative_sequence,
        backlog_limit=_backlog_limit(config),
        decoupled=config.model_transaction_policy.decoupled,
        tensors=batch_tensors_of(config),
    )


def _controls(config: Any) -> list[ControlSpec]:
    found = []
    for item in config.sequence_batching.control_input:
        for control in item.control:
            kind = ControlKind(type(control).Kind.Name(control.kind))
            found.append(_control(item.name, kind, control))
    return found


def _control(name: str, kind: ControlKind, control: Any) -> ControlSpec:
    if kind is ControlKind.CORRID:
        return ControlSpec(name, kind, BY_NUMBER[control.data_type])
    for field, datatype in (
        ("int32_false_true", "INT32"),
        ("fp32_false_true", "FP32"),
        ("bool_false_true", "BOOL"),
    ):
        values = tuple(getattr(control, field))
        if len(values) == 2:
            return ControlSpec(name, kind, BY_NAME[datatype], (values[0], values[1]))
    raise _invalid(
        "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or "
        f"'bool_false_true' for {kind}"
    )


def _states(config: Any, directory: Path) -> tuple[StateSpec, ...]:
    found: dict[str, StateSpec] = {}
    outputs: set[str] = set()
    for state in config.sequence_batching.state:
        # A name given twice is ignored with what belongs to it, as in Triton.
        if state.input_name in found or state.output_name in outputs:
            continue
        datatype = BY_NUMBER[state.data_type]
        outputs.add(state.output_name)
        found[state.input_name] = StateSpec(
            state.input_name,
            state.output_name,
            datatype,
            tuple(state.dims),
            _initial(config, state, datatype, directory),
        )
    return tuple(found.values())


def _initial(config: Any, state: Any, datatype: DataType, directory: Path) -> Array:
    """The first state of a sequence: as configured, or zeros with variable dims of 1."""
    if len(state.initial_state) > 1:
        raise _invalid(
            f"initial_state field for state input '{state.input_name}' must contain exactly one or "
            f"zero element. Found '{len(state.initial_state)}' elements."
        )
    lead = (1,) if config.max_batch_size > 0 else ()
    if not state.initial_state:
        return _zeros((*lead, *(1 if dim == -1 else dim for dim in state.dims)), datatype)
    initial = state.initial_state[0]
    _check_initial(state, initial)
    shape = (*lead, *initial.dims)
    if initial.WhichOneof("state_data") == "data_file":
        field = f"sequence_batching.state[{state.input_name}].initial_state.data_file"
        path = inside(directory, initial.data_file, field, base=_FOLDER)
        return _from_file(path, initial, shape, datatype)
    return _zeros(shape, datatype)


def _check_initial(state: Any, initial: Any) -> None:
    name = state.input_name
    if initial.data_type != state.data_type:
        raise _invalid(
            f"The data type used for 'initial_state' field of state '{name}' does not match the "
            "state data type."
        )
    if not initial.name:
        raise _invalid(
            f"Field 'name' must be set when using initial_state for state input '{name}'."
        )
    if len(initial.dims) != len(state.dims):
        raise _invalid(
            "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions "
            f"for state input '{name}'. {len(initial.dims)} != {len(state.dims)}"
        )
    for dim, allowed in zip(initial.dims, state.dims, strict=True):
        if dim == -1:
            raise _invalid(
                f"'initial_state' field for state input name '{name}' contains variable dimensions."
            )
        if allowed not in (-1, dim):
            raise _invalid(
                f"'initial_state' dim for input name '{name}' doesn't match 'state' dim "
                f"description. {dim} != {allowed}"
            )
    if initial.WhichOneof("state_data") is None:
        raise _invalid(f"initial_state setting expects state'{name}' to have state_data set")


def _zeros(shape: tuple[int, ...], datatype: DataType) -> Array:
    if not datatype.item_size:
        return np.full(shape, b"", dtype=object)
    return np.zeros(shape, datatype.dtype)


def _from_file(path: Path, initial: Any, shape: tuple[int, ...], datatype: DataType) -> Array:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileUnreadable(path, error.strerror or str(error)) from error
    count = element_count(shape)
    if not datatype.item_size:
        return _texts(data, count, initial.data_file).reshape(shape)
    size = count * datatype.item_size
    if size > len(data):
        raise _invalid(
            f"initial_state setting expects {size} bytes, but the data provided from "
            f"{initial.data_file}only has {len(data)} bytes."
        )
    return np.frombuffer(data[:size], datatype.dtype).reshape(shape)


def _texts(data: bytes, count: int, file: str) -> Array:
    """Strings as the wire has them: each behind its length in four bytes."""
    found: list[bytes] = []
    position = 0
    while len(found) < count and position + 4 <= len(data):
        size = int.from_bytes(data[position : position + 4], "little")
        found.append(data[position + 4 : position + 4 + size])
        position += 4 + size
    if len(found) < count or position > len(data):
        raise _invalid(
            f"initial_state setting expects {count} strings, but {file} has not got them"
        )
    texts = np.empty(count, dtype=object)
    texts[:] = found
    return texts


def _backlog_limit(config: Any) -> int:
    text = (
        config.parameters[BACKLOG_PARAMETER].string_value
        if (BACKLOG_PARAMETER in config.parameters)
        else "0"
    )
    if not text.isdigit():
        raise _invalid(
            f"parameter '{BACKLOG_PARAMETER}' is '{text}', expected a whole number (0: no limit)"
        )
    return int(text)


def _invalid(message: str) -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field="sequence_batching"),))

"""dynamic_batching and sequence_batching: sizes, priorities, queues, controls, states."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding

_DYNAMIC = "dynamic_batching[0]"
_DELAY = 1  # ModelQueuePolicy.DELAY
_SEQUENCE = "sequence_batching[0]"
_BOOLEAN = ("CONTROL_SEQUENCE_START", "CONTROL_SEQUENCE_END", "CONTROL_SEQUENCE_READY")
_CORRID = "CONTROL_SEQUENCE_CORRID"
_VALUES = ("int32_false_true", "fp32_false_true", "bool_false_true")
_ID_TYPES = frozenset({5, 9, 4, 8, 13})  # UINT64, INT64, UINT32, INT32, STRING


def check_dynamic_batching(config: Any) -> Iterator[Problem]:
    if not config.HasField("dynamic_batching"):
        return
    batching = config.dynamic_batching
    yield from check_preferred(
        batching.preferred_batch_size,
        config,
        f"{_DYNAMIC}.preferred_batch_size",
        "dynamic batching preferred size must be positive for",
        "dynamic batching preferred size must be <= max batch size for",
    )
    yield from _levels(config)
    if batching.preserve_ordering:
        yield from _ordering(config)


def check_preferred(
    sizes: Any, config: Any, field: str, too_small: str, too_large: str
) -> Iterator[Problem]:
    """Preferred batch sizes lie between 1 and max_batch_size."""
    for size in sizes:
        if size <= 0 or size > config.max_batch_size:
            yield finding(
                field,
                f"{too_small if size <= 0 else too_large} {config.name}",
                got=size,
                expected=f"1 to {config.max_batch_size} (max_batch_size)",
            )


def _levels(config: Any) -> Iterator[Problem]:
    batching = config.dynamic_batching
    levels = batching.priority_levels
    if not levels:
        return
    if not 1 <= batching.default_priority_level <= levels:
        yield finding(
            f"{_DYNAMIC}.default_priority_level",
            f"default priority level must be in range [1, {levels}] for {config.name}",
            got=batching.default_priority_level,
            expected=f"1 to {levels} (priority_levels)",
        )
    for level in sorted(batching.priority_queue_policy):
        if not 1 <= level <= levels:
            yield finding(
                f"{_DYNAMIC}.priority_queue_policy",
                f"priority queue policy must have priority level in range [1, {levels}] for "
                f"{config.name}",
                got=level,
                expected=f"1 to {levels} (priority_levels)",
            )


def _ordering(config: Any) -> Iterator[Problem]:
    batching = config.dynamic_batching
    if batching.priority_levels > 1:
        yield finding(
            f"{_DYNAMIC}.preserve_ordering",
            "Only one priority level is allowed when 'preserve_ordering' is true for "
            f"{config.name}",
            got=batching.priority_levels,
            expected="priority_levels 0 or 1, or preserve_ordering: false",
        )
    policies = [(f"{_DYNAMIC}.default_queue_policy", batching.default_queue_policy)]
    policies += [
        (f"{_DYNAMIC}.priority_queue_policy", policy)
        for _, policy in sorted(batching.priority_queue_policy.items())
    ]
    for field, policy in policies:
        if policy.default_timeout_microseconds and policy.timeout_action == _DELAY:
            yield finding(
                field,
                "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is "
                f"true for {config.name}",
                got="DELAY",
                expected="timeout_action: REJECT, or preserve_ordering: false",
            )


def check_sequence_batching(config: Any) -> Iterator[Problem]:
    if not config.HasField("sequence_batching"):
        return
    batching, name = config.sequence_batching, config.name
    if config.response_cache.enable:
        yield finding(
            "response_cache",
            f"Response Cache does not currently support model {name} with sequence batching "
            "scheduler. Please disable the response cache.",
            got=True,
            expected="enable: false",
        )
    yield from _control_names(batching, name)
    for kind in (*_BOOLEAN, _CORRID):
        yield from _control_kind(batching, name, kind)
    if batching.HasField("oldest"):
        yield from check_preferred(
            batching.oldest.preferred_batch_size,
            config,
            f"{_SEQUENCE}.oldest[0].preferred_batch_size",
            "sequence batching preferred batch size must be positive for",
            "sequence batching preferred batch size must be <= max batch size for",
        )
    utilization = batching.direct.minimum_slot_utilization
    if not 0.0 <= utilization <= 1.0:
        yield finding(
            f"{_SEQUENCE}.direct[0].minimum_slot_utilization",
            f"sequence batching minimum slot utilization must be in range (0.0, 1.0] for {name}",
            got=utilization,
            expected="more than 0.0, at most 1.0",
        )


def _control_names(batching: Any, model: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, item in enumerate(batching.control_input):
        field = f"{_SEQUENCE}.control_input[{index}]"
        if not item.name:
            yield finding(field, f"sequence batching control tensor must have a name for {model}")
        elif item.name in seen:
            yield finding(
                f"{field}.name",
                f"sequence batching control tensor '{item.name}' is specified for multiple "
                f"control kinds for {model}",
                got=item.name,
                expected="every control tensor once",
            )
        seen.add(item.name)


def _control_kind(batching: Any, model: str, kind: str) -> Iterator[Problem]:
    seen = False
    for index, item in enumerate(batching.control_input):
        for place, control in enumerate(item.control):
            if control.Kind.Name(control.kind) != kind:
                continue
            field = f"{_SEQUENCE}.control_input[{index}].control[{place}]"
            if seen:
                yield finding(
                    field, f"sequence batching specifies multiple {kind} tensors for {model}"
                )
                continue
            seen = True
            check = _typed_control if kind == _CORRID else _boolean_control
            yield from check(control, model, kind, field)


def _boolean_control(control: Any, model: str, kind: str, field: str) -> Iterator[Problem]:
    given = [name for name in _VALUES if len(getattr(control, name))]
    if not given:
        yield finding(
            field,
            "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or "
            f"'bool_false_true' for {kind} for {model}",
        )
    elif len(given) > 1:
        yield finding(
            field,
            "sequence batching specifies more than one from 'int32_false_true', "
            f"'fp32_false_true' and 'bool_false_true' for {kind} for {model}",
            got=given,
            expected="one of them",
        )
    elif len(getattr(control, given[0])) != 2:
        yield finding(
            f"{field}.{given[0]}",
            f"sequence batching control '{given[0]}' must have exactly 2 entries for {kind} for "
            f"{model}",
            got=getattr(control, given[0]),
            expected="the values for false and for true",
        )


def _typed_control(control: Any, model: str, kind: str, field: str) -> Iterator[Problem]:
    given = [name for name in _VALUES if len(getattr(control, name))]
    if given:
        yield finding(
            f"{field}.{given[0]}",
            "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or "
            f"'bool_false_true' for {kind} for {model}",
        )
    if control.data_type not in _ID_TYPES:
        yield finding(
            f"{field}.data_type",
            f"unexpected data type for control {kind} for {model}. Allowed data types are "
            "TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
        )


def check_states(config: Any) -> Iterator[Problem]:
    """Initial values of implicit states; whether their files are there is seen when they load."""
    for index, state in enumerate(config.sequence_batching.state):
        field = f"{_SEQUENCE}.state[{index}]"
        name = state.input_name
        if not state.data_type:  # Triton finds out when the first sequence runs
            yield finding(
                field,
                f"state input '{name}' must specify 'data_type' for {config.name}",
            )
        if len(state.initial_state) > 1:
            yield finding(
                f"{field}.initial_state",
                f"initial_state field for state input '{name}' must contain exactly one or zero "
                f"element. Found '{len(state.initial_state)}' elements.",
            )
        elif state.initial_state:
            yield from _initial_state(state, state.initial_state[0], f"{field}.initial_state[0]")


def _initial_state(state: Any, initial: Any, field: str) -> Iterator[Problem]:
    name = state.input_name
    if not initial.name:
        yield finding(
            field,
            f"Field 'name' must be set when using initial_state for state input '{name}'.",
        )
    if initial.data_type != state.data_type:
        yield finding(
            f"{field}.data_type",
            f"The data type used for 'initial_state' field of state '{name}' does not match the "
            "state data type.",
        )
    if len(initial.dims) != len(state.dims):
        yield finding(
            f"{field}.dims",
            "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions "
            f"for state input '{name}'. {len(initial.dims)} != {len(state.dims)}",
            got=initial.dims,
            expected=f"{len(state.dims)} dims",
        )
    else:
        yield from _initial_dims(state, initial, field)
    if not initial.WhichOneof("state_data"):
        yield finding(field, f"initial_state setting expects state'{name}' to have state_data set")


def _initial_dims(state: Any, initial: Any, field: str) -> Iterator[Problem]:
    name = state.input_name
    if any(dim == -1 for dim in initial.dims):
        yield finding(
            f"{field}.dims",
            f"'initial_state' field for state input name '{name}' contains variable dimensions.",
            got=initial.dims,
            expected="fixed sizes",
        )
        return
    for got, want in zip(initial.dims, state.dims, strict=True):
        if want not in (-1, got):
            yield finding(
                f"{field}.dims",
                f"'initial_state' dim for input name '{name}' doesn't match 'state' dim "
                f"description. {got} != {want}",
                got=initial.dims,
                expected=f"dims that fit {list(state.dims)}",
            )
            return

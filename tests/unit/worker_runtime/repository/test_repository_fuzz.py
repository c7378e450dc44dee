"""Configuration text from anywhere: it is read or refused as ConfigInvalid, nothing else."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.config_json import from_json, read_json, to_json
from worker_runtime.repository.pbtxt import parse, places, render
from worker_runtime.repository.validation import validate
from worker_runtime.types.tensor import DATA_TYPES

WORDS = [
    "name",
    "backend",
    "platform",
    "input",
    "output",
    "dims",
    "data_type",
    "TYPE_FP32",
    "max_batch_size",
    "-1",
    "0",
    "1.5",
    "99999999999",
    "true",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ":",
    ",",
    ";",
    "#",
    '"',
    "'",
    '"x"',
    "\\",
    "\n",
    "key",
    "value",
    "parameters",
    "string_value",
    "instance_group",
    "kind",
    "KIND_CPU",
    "dynamic_batching",
    "sequence_batching",
    "reshape",
    "shape",
    "nan",
    "inf",
    "0x1f",
    "[a.b/c]",
    "-",
    "--",
    "+",
]
GARBAGE = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=60).map("".join),
)
# Not the largest of 32 bits: protobuf writes that rounded up, and reads nothing that is larger.
LARGEST = 2.0**127


@given(GARBAGE)
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    found = places(text)
    for place in found.values():
        assert text[place.start : place.end] == place.value
    try:
        config = parse(text)
    except ConfigInvalid as error:
        (problem,) = error.problems
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message
        return
    assert parse(render(config)) == config
    for problem in validate(config, found):
        assert problem.message
    assert from_json(to_json(config)) == config


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                st.sampled_from(
                    [field.name for field in model_config_pb2.ModelConfig.DESCRIPTOR.fields]
                ),
                st.sampled_from(["name", "dims", "data_type", "kind", "1", "key"]),
                st.text(max_size=4),
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@given(st.one_of(JSON.map(json.dumps), st.text(max_size=100), st.binary(max_size=50)))
@settings(max_examples=300, deadline=None)
def test_any_json_is_read_or_refused(text: str | bytes) -> None:
    try:
        config, given_fields = read_json(text)
    except ConfigInvalid as error:
        assert str(error)
        return
    assert isinstance(given_fields, frozenset)
    assert from_json(to_json(config)) == config


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
DIMS = st.lists(st.integers(-1, 2**63 - 1), max_size=4)


@st.composite
def configurations(draw: Any) -> Any:
    """Messages with something in every corner where a printer may slip."""
    config = model_config_pb2.ModelConfig(
        name=draw(NAMES), max_batch_size=draw(st.integers(-(2**31), 2**31 - 1))
    )
    for kind in ("input", "output"):
        for _ in range(draw(st.integers(0, 2))):
            item = getattr(config, kind).add(
                name=draw(NAMES),
                data_type=draw(st.sampled_from([0, *(row.number for row in DATA_TYPES)])),
                dims=draw(DIMS),
            )
            if draw(st.booleans()):
                item.reshape.shape.extend(draw(DIMS))
                item.reshape.SetInParent()
    for key, value in draw(st.dictionaries(NAMES, NAMES, max_size=3)).items():
        config.parameters[key].string_value = value
        config.metric_tags[key] = value
    if draw(st.booleans()):
        batching = config.dynamic_batching
        batching.max_queue_delay_microseconds = draw(st.integers(0, 2**64 - 1))
        for level in draw(st.lists(st.integers(0, 2**64 - 1), max_size=3)):
            batching.priority_queue_policy[level].max_queue_size = draw(st.integers(0, 2**32 - 1))
    elif draw(st.booleans()):
        batching = config.sequence_batching
        slots = st.floats(-LARGEST, LARGEST, width=32) | st.sampled_from((math.inf, -math.inf))
        batching.direct.minimum_slot_utilization = draw(slots)
        state = batching.state.add(input_name=draw(NAMES))
        state.initial_state.add(dims=draw(DIMS), zero_data=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 2))):
        group = config.instance_group.add(kind=draw(st.integers(0, 3)), gpus=[0, 1])
        group.secondary_devices.add(device_id=draw(st.integers(-(2**63), 2**63 - 1)))
    return config


@given(configurations())
@settings(max_examples=200, deadline=None)
def test_text_and_json_carry_every_message(config: Any) -> None:
    assert parse(render(config)) == config
    assert from_json(to_json(config)) == config
    assert from_json(json.loads(json.dumps(to_json(config)))) == config
    assert all(problem.message for problem in validate(config, {}))


@pytest.mark.parametrize(
    "text", ["a{" * 5000, "input{" * 5000, "[" * 9999, "parameters{key:'a'" * 999]
)
def test_depth_is_no_way_out(text: str) -> None:
    assert len(places(text)) < 500
    with pytest.raises(ConfigInvalid):
        parse(text)


def test_long_files_are_walked_once() -> None:
    text = 'input { name: "a" }\n' * 20_000
    found = places(text)
    assert found["input[19999].name"][:2] == (20_000, 9)
    assert len(found) == 60_001

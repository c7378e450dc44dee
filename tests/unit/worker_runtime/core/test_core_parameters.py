"""What request parameters mean, over both protocols, in Triton's words."""

from typing import Any

import pytest

from worker_runtime.core.parameters import HeaderForward, from_json, from_typed, joined
from worker_runtime.errors import InvalidArgument, RuntimeFault, Unsupported
from worker_runtime.types.request import SequencePart

UINT = "attempt to access JSON non-unsigned-integer as unsigned-integer"
BOOL = "attempt to access JSON non-boolean as boolean"
STRING = "attempt to access JSON non-string as string"
RESERVED = (
    "parameter keys starting with 'triton_' are reserved for Triton usage and should not be "
    "specified."
)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], "failed to get request params.: attempt to get members for non-object"),
        ({"sequence_id": -1}, f"Unable to parse 'sequence_id': {STRING}"),
        ({"sequence_id": True}, f"Unable to parse 'sequence_id': {STRING}"),
        ({"sequence_id": 1.5}, f"Unable to parse 'sequence_id': {STRING}"),
        ({"sequence_id": None}, f"Unable to parse 'sequence_id': {STRING}"),
        ({"sequence_id": 2**64}, f"Unable to parse 'sequence_id': {STRING}"),
        ({"sequence_start": 1}, f"Unable to parse 'sequence_start': {BOOL}"),
        ({"sequence_end": "x"}, f"Unable to parse 'sequence_end': {BOOL}"),
        ({"binary_data_output": 1}, f"Unable to parse 'binary_data_output': {BOOL}"),
        ({"priority": -1}, f"Unable to parse 'priority': {UINT}"),
        ({"priority": True}, f"Unable to parse 'priority': {UINT}"),
        ({"timeout": "1"}, f"Unable to parse 'timeout': {UINT}"),
        ({"timeout": 2**64}, f"Unable to parse 'timeout': {UINT}"),
        ({"triton_anything": 1}, RESERVED),
        ({"triton_enable_empty_final_response": True}, RESERVED),
        (
            {"foo": None},
            "parameter 'foo' has invalid type. It should be either 'int', 'bool', or 'string'.",
        ),
        (
            {"a": 1, "foo": [1]},
            "parameter 'foo' has invalid type. It should be either 'int', 'bool', or 'string'.",
        ),
    ],
)
def test_json_errors(given: Any, error: str) -> None:
    with pytest.raises(RuntimeFault) as raised:
        from_json(given)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    "reader",
    [
        lambda v: from_json({"sequence_id": v}),
        lambda v: from_typed([("sequence_id", "string_param", v)]),
    ],
)
def test_long_ids_are_unsupported(reader: Any) -> None:
    assert reader("x" * 128).sequence.id == "x" * 128
    with pytest.raises(Unsupported, match="cannot be longer than 128 characters"):
        reader("x" * 129)


def test_an_id_of_bytes_that_are_no_text_is_refused() -> None:
    """JSON that the exact reader takes may have any bytes in its strings."""
    with pytest.raises(InvalidArgument, match="string correlation ID is not valid UTF-8"):
        from_json({"sequence_id": "a\udcff"})


def test_json_values() -> None:
    read = from_json(
        {"sequence_id": 5, "sequence_start": True, "priority": 2, "timeout": 7, "a": 1, "b": "x",
         "c": True, "d": 1.5, "e": 2**63, "binary_data_output": True}
    )  # fmt: skip
    assert read.sequence == SequencePart(5, start=True)
    assert (read.priority, read.timeout_ns) == (2, 7000)
    assert read.custom == {"a": 1, "b": "x", "c": True, "d": 1.5, "e": float(2**63)}


@pytest.mark.parametrize("value", [0, ""])
def test_zero_is_no_sequence(value: Any) -> None:
    assert from_json({"sequence_id": value, "sequence_start": True}).sequence is None
    kind = "string_param" if value == "" else "int64_param"
    assert from_typed([("sequence_id", kind, value)]).sequence is None


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (
            ("sequence_id", "bool_param", True),
            "invalid value type for 'sequence_id' parameter, expected int64_param or string_param.",
        ),
        (
            ("sequence_start", "int64_param", 1),
            "invalid value type for 'sequence_start' parameter, expected bool_param.",
        ),
        (
            ("sequence_end", "string_param", "1"),
            "invalid value type for 'sequence_end' parameter, expected bool_param.",
        ),
        (("priority", "int64_param", -1), "invalid value for 'priority', expected value >= 0."),
        (
            ("priority", "string_param", "1"),
            "invalid value type for 'priority' parameter, expected int64_param or uint64_param.",
        ),
        (
            ("timeout", "uint64_param", 1),
            "invalid value type for 'timeout' parameter, expected int64_param.",
        ),
        (
            ("triton_x", "bool_param", True),
            "parameter keys starting with 'triton_' are reserved for Triton usage. Only the "
            "following keys starting with 'triton_' are allowed: "
            "triton_enable_empty_final_response",
        ),
        (
            ("triton_enable_empty_final_response", "int64_param", 1),
            "invalid value type for 'triton_enable_empty_final_response' parameter, expected "
            "bool_param.",
        ),
        (
            ("foo", "uint64_param", 1),
            "invalid value type for 'foo' parameter, expected int64_param, bool_param, or "
            "string_param.",
        ),
    ],
)
def test_typed_errors(item: tuple[str, str, Any], error: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        from_typed([item])
    assert str(raised.value) == error


def test_typed_values() -> None:
    read = from_typed(
        [
            ("sequence_id", "int64_param", -1),
            ("sequence_end", "bool_param", True),
            ("priority", "uint64_param", 3),
            ("timeout", "int64_param", 2),
            ("triton_enable_empty_final_response", "bool_param", True),
            ("x", "double_param", 0.5),
        ]
    )
    assert read.sequence == SequencePart(2**64 - 1, end=True)
    assert (read.priority, read.timeout_ns, read.empty_final) == (3, 2000, True)
    assert read.custom == {"x": 0.5}


def test_forwarded_headers() -> None:
    forward = HeaderForward("my_.*|TIMEOUT|triton")
    found = forward.parameters([("X-MY_header", "a"), ("my_other", "b"), ("accept", "c")])
    assert found == {"X-MY_header": "a", "my_other": "b"}
    with pytest.raises(InvalidArgument, match="'timeout' is reserved"):
        forward.parameters([("timeout", "5")])
    with pytest.raises(InvalidArgument, match="starting with 'triton_'"):
        forward.parameters([("Triton_x", "5")])
    with pytest.raises(InvalidArgument, match="not a regular expression"):
        HeaderForward("(")


def test_joining() -> None:
    assert joined(None, {}) is None
    assert joined({"a": 1}, {"a": "h"}) == {"a": "h"}
    assert joined(None, {"a": "h"}) == {"a": "h"}

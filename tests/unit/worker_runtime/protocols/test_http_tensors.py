"""Tensor data in JSON and BYTES framing."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.schema import decode_request
from worker_runtime.protocols.http.tensors import encode_response, from_json, to_json
from worker_runtime.types.strings import parse_strings, string_array, write_strings
from worker_runtime.types.tensor import BY_NAME


@pytest.mark.parametrize(
    ("text", "datatype", "expected"),
    [
        ("[1,2,3,4]", "INT32", [1, 2, 3, 4]),
        ("[[1,2],[3,4]]", "INT8", [1, 2, 3, 4]),
        ("[[[1],[2]],[[3],4]]", "UINT64", [1, 2, 3, 4]),
        ("[1,2.5,3,4e3]", "FP32", [1, 2.5, 3, 4000]),
        ("[[NaN,Infinity],[-Infinity,1]]", "FP64", [float("nan"), float("inf"), -float("inf"), 1]),
        ("[true,false,[true,true]]", "BOOL", [True, False, True, True]),
    ],
)
def test_data_may_be_flat_or_nested(text: str, datatype: str, expected: list[Any]) -> None:
    kind = BY_NAME[datatype]
    raw = from_json(text.encode(), kind, 4, "x")
    assert kind.dtype is not None
    np.testing.assert_array_equal(np.frombuffer(raw, kind.dtype), np.array(expected, kind.dtype))


@pytest.mark.parametrize(
    ("text", "datatype", "message"),
    [
        ("[1,2]", "INT32", "expected 4, got 2"),
        ("[1,2,3,400]", "INT8", "out of bounds|out of range"),
        ("[1,2,3,-1]", "UINT8", "out of bounds|out of range"),
        ("[1,2,3,1.5]", "INT32", "1.5 is not a value of INT32"),
        ('[1,2,3,"4"]', "FP32", "'4' is not a value of FP32"),
        ("[1,0,1,0]", "BOOL", "1 is not a value of BOOL"),
        ("[true,2,3,4]", "INT32", "True is not a value of INT32"),
        ("[1,2,3,null]", "FP32", "None is not a value of FP32"),
        ("[1,2,3,4]", "FP16", "sending FP16 data via JSON is not supported"),
        ("[" * 200 + "]" * 200, "INT32", "nested too deeply|expected 4"),
    ],
)
def test_bad_data_is_refused(text: str, datatype: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        from_json(text.encode(), BY_NAME[datatype], 4, "x")


def test_fp32_values_are_printed_as_the_double_of_the_float() -> None:
    data = to_json(np.array([0.1], np.float32), BY_NAME["FP32"], "y")
    assert encode_response({"d": data}, finite=True) == b'{"d":[0.10000000149011612]}'


def test_what_is_not_finite_appears_as_a_literal() -> None:
    data = to_json(np.array([np.nan, np.inf, -np.inf]), BY_NAME["FP64"], "y")
    assert encode_response({"d": data}, finite=False) == b'{"d":[NaN,Infinity,-Infinity]}'


def test_half_floats_and_bad_text_do_not_fit_json() -> None:
    with pytest.raises(InvalidArgument, match="FP16 data via JSON"):
        to_json(np.zeros(1, np.float16), BY_NAME["FP16"], "y")
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        to_json(string_array([b"\xff"]), BY_NAME["BYTES"], "y")


@given(st.lists(st.binary(max_size=30), max_size=10))
def test_bytes_tensors_round_trip(items: list[bytes]) -> None:
    wire = write_strings(string_array(list(items)))
    assert list(parse_strings(wire, len(items), "x", "m")) == items


@pytest.mark.parametrize(
    ("wire", "count", "message"),
    [
        (b"\x01\x00", 1, "incomplete string length indicator"),
        (b"\x05\x00\x00\x00abc", 1, "expecting string of length 5 but only 3 bytes"),
        (b"\x01\x00\x00\x00a", 2, "expected 2 string elements .* got 1"),
        (b"", 1, "expected 1 string elements"),
    ],
)
def test_broken_bytes_tensors_are_refused(wire: bytes, count: int, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_strings(wire, count, "x", "m")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"inputs":1}',
        b'{"inputs":[{"name":"x"}]}',
        b'{"inputs":[],"id":7}',
        b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1.5],"data":[NaN]}]}',
        b"\xff\xfe",
    ],
)
def test_bad_json_is_refused_with_a_reason(text: bytes) -> None:
    with pytest.raises(InvalidArgument, match="failed to parse the request JSON"):
        decode_request(text)

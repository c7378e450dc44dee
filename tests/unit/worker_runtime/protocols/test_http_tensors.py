"""Tensor data in JSON and BYTES framing."""

import contextlib
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.http.json_parser import TOO_DEEP, _Parser, read
from worker_runtime.protocols.http.schema import decode_request
from worker_runtime.protocols.http.tensors import encode_response, from_json, to_json
from worker_runtime.types.tensor import BY_NAME, parse_strings, string_array, write_strings

DATA = "Unable to parse 'data': "
JSON = "attempt to access JSON"


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
        ("[1,2]", "INT32", f"{DATA}Shape does not match true shape of 'data' field"),
        ("[1,2,3,4,5]", "FP32", f"{DATA}Shape does not match true shape of 'data' field"),
        ("[1,2,3,400]", "INT8", f"{DATA}a value of input 'x' is out of the range of INT8"),
        ("[1,2,3,-1]", "UINT8", f"{DATA}{JSON} non-unsigned-integer as unsigned-integer"),
        ("[1,2,3,18446744073709551616]", "UINT64", f"{DATA}{JSON} non-unsigned-integer as uns"),
        ("[1,2,3,1.5]", "INT32", f"{DATA}{JSON} non-signed-integer as signed-integer"),
        ("[1,2,3,9223372036854775808]", "INT64", f"{DATA}{JSON} non-signed-integer as signed"),
        ('[1,2,3,"4"]', "FP32", f"{DATA}{JSON} non-number as double"),
        ("[1,0,1,0]", "BOOL", f"{DATA}{JSON} non-boolean as boolean"),
        ("[true,2,3,4]", "INT32", f"{DATA}{JSON} non-signed-integer as signed-integer"),
        ("[1,2,3,null]", "FP32", f"{DATA}{JSON} non-number as double"),
        ('["a",1]', "BYTES", f"Unable to parse JSON bytes array: {JSON} non-string as string"),
        ("1", "FP32", f"{DATA}{JSON} non-array as array"),
        ("null", "FP32", f"{DATA}{JSON} non-array as array"),
        ("[1,2,3,4]", "FP16", "receiving FP16 data via JSON is not supported. Please use the "),
        ("[" * 120 + "1" + "]" * 120, "INT32", "JSON nesting depth exceeds maximum allowed limit "),
        ("[" * 120 + '"1"' + "]" * 120, "BYTES", "JSON nesting depth exceeds maximum allowed "),
    ],
)
def test_bad_data_is_refused(text: str, datatype: str, message: str) -> None:
    with pytest.raises(RuntimeFault, match=re.escape(message)):
        from_json(text.encode(), BY_NAME[datatype], 4, "x")


def test_fifty_levels_are_fine_and_no_elements_need_no_data() -> None:
    assert from_json(b"[" * 50 + b"7" + b"]" * 50, BY_NAME["INT8"], 1, "x") == b"\x07"
    assert from_json(b"[1,2]", BY_NAME["INT8"], 0, "x") == b""


def test_fp32_values_are_printed_as_the_double_of_the_float() -> None:
    data = to_json(np.array([0.1], np.float32), BY_NAME["FP32"])
    assert encode_response({"d": data}, finite=True) == b'{"d":[0.10000000149011612]}'


def test_what_is_not_finite_appears_as_a_literal() -> None:
    data = to_json(np.array([np.nan, np.inf, -np.inf]), BY_NAME["FP64"])
    assert encode_response({"d": data}, finite=False) == b'{"d":[NaN,Infinity,-Infinity]}'


def test_half_floats_and_bad_text_do_not_fit_json() -> None:
    with pytest.raises(InvalidArgument, match="sending FP16 data via JSON is not supported"):
        to_json(np.zeros(1, np.float16), BY_NAME["FP16"])


def test_texts_that_are_not_utf8_leave_as_they_are() -> None:
    data = to_json(string_array([b"\xff\n", "ä".encode()]), BY_NAME["BYTES"])
    assert encode_response({"d": data}, finite=True) == b'{"d":["\xff\\n","\xc3\xa4"]}'
    array = from_json(b'["\xff"]', BY_NAME["BYTES"], 1, "x")
    assert list(array) == [b"\xff"]


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
    with pytest.raises(RuntimeFault, match=message):
        parse_strings(wire, count, "x", "m")


PARSE = "failed to parse the request JSON buffer: "
SOURCES = (
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', "
    "'shared_memory_region' in 'parameters'. But "
)
X = '"name":"x","datatype":"FP32"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"{PARSE}The document is empty. at 0"),
        ("{", f"{PARSE}Missing a name for object member. at 1"),
        ("nope", f"{PARSE}Invalid value. at 1"),
        ('{"inputs":[]}x', f"{PARSE}The document root must not be followed by other values. at 13"),
        ("[]", "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"),
        ("null", "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"),
        ('{"inputs":1}', f"Unable to parse 'inputs': {JSON} non-array as array"),
        ('{"inputs":[],"id":7}', f"Unable to parse 'id': {JSON} non-string as string"),
        ('{"inputs":[],"id":null}', f"Unable to parse 'id': {JSON} non-string as string"),
        ('{"inputs":[1]}', f"{SOURCES}no field is set"),
        ('{"inputs":[{"name":"x"}]}', f"{SOURCES}no field is set"),
        ('{"inputs":[{"data":[]}]}', "Unable to parse 'name': attempt to access non-existing obj"),
        ('{"inputs":[{"name":1,"data":[]}]}', f"Unable to parse 'name': {JSON} non-string as str"),
        ('{"inputs":[{"name":"x","data":[]}]}', "Unable to parse 'datatype': attempt to access n"),
        ('{"inputs":[{@,"data":[]}]}', "Unable to parse 'shape': attempt to access non-exi"),
        ('{"inputs":[{@,"shape":1,"data":[]}]}', f"Unable to parse 'shape': {JSON} non-arr"),
        ('{"inputs":[{@,"shape":[1.0],"data":[]}]}', f"Unable to parse 'shape': {JSON} non-"),
        ('{"inputs":[{@,"shape":[-1],"data":[]}]}', f"Unable to parse 'shape': {JSON} non-u"),
        ('{"inputs":[],"outputs":null}', f"Unable to parse 'outputs': {JSON} non-array as array"),
        ('{"inputs":[],"outputs":[{}]}', "Unable to parse 'name': attempt to access non-existing"),
    ],
)
def test_bad_json_is_refused_in_tritons_words(text: str, message: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        decode_request(text.replace("@", X).encode())
    assert str(caught.value).startswith(message)


def test_of_a_member_given_twice_the_first_counts() -> None:
    found = decode_request(
        b'{"id":"a","id":"b","inputs":[{@,"shape":[2],"shape":[1],"data":[1,2]}]}'.replace(
            b"@", X.encode()
        )
    )
    assert (found.id, found.inputs[0].shape) == ("a", [2])


def test_what_is_unknown_is_passed_over() -> None:
    found = decode_request(
        b'{"more":{},"inputs":[{@,"shape":[1],"data":[1],"parameters":5,"z":1}]}'.replace(
            b"@", X.encode()
        )
    )
    assert found.inputs[0].parameters is None


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"[1]", [1]),
        (b"[Infinity]", [float("inf")]),
        (b'["\xff"]', ["\udcff"]),
        (b"[1,]", "Invalid value. at "),
        (b"[" * 3000, TOO_DEEP),
    ],
)
def test_large_documents_are_read_quickly(body: bytes, found: Any) -> None:
    raw = b" " * (2 << 20) + body
    if isinstance(found, list):
        assert read(raw) == found
    else:
        with pytest.raises(RuntimeFault, match=re.escape(found)):
            read(raw)


@given(st.text(max_size=40), st.integers(-5, 5))
def test_the_slow_reader_agrees_with_the_standard_one(text: str, number: int) -> None:
    document = {"a": [text, number, None, True, {text: [number / 7, []]}], text: {}}
    for ensure_ascii in (True, False):
        raw = json.dumps(document, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
        assert _Parser(raw).document() == json.loads(raw)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    for candidate in (raw, b'{"inputs":[' + raw + b"]}", b'["' + raw + b'"]'):
        with contextlib.suppress(RuntimeFault):
            read(candidate)
        with contextlib.suppress(RuntimeFault):
            decode_request(candidate)

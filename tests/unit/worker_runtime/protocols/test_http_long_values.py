"""One text, number or run of white space of many slices: no piece that anybody decodes is long."""

import gc
import json
import weakref
from typing import Any

import numpy as np
import pytest

from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.http import json_parts, tensors
from worker_runtime.protocols.http.json_parts import LONGEST, PART_BYTES, Parts
from worker_runtime.protocols.http.json_values import BadJson
from worker_runtime.protocols.http.long_texts import character_cut, text_cut
from worker_runtime.protocols.http.schema import decode_large_request
from worker_runtime.protocols.http.tensors import (
    parsed_in_slices,
    read_in_slices,
    texts_in_slices,
)
from worker_runtime.protocols.slices import Steps, at_once
from worker_runtime.types.tensor import BY_NAME

BYTES, FP32 = BY_NAME["BYTES"], BY_NAME["FP32"]
LONG = 40 * PART_BYTES
# Of a text as it stands in JSON; each is repeated until it is long.
TEXTS = [
    b"a",
    b"\\n",
    b"\\\\",
    b'\\"',
    b"\\u00fc",
    b"\\ud83d\\ude00",
    "ü\U0001f600".encode(),
    b"\xff",
    b"\\\\u12",
    b"[,]{:}",
]


def document(data: bytes, datatype: bytes = b"BYTES", end: bytes = b"") -> bytes:
    given = b'"name":"x","datatype":"%b","shape":[1],"data":%b' % (datatype, data)
    return b'{"inputs":[{%b}]%b}' % (given, end)


def long(text: bytes) -> bytes:
    return b'"%b"' % (text * (LONG // len(text)))


def parts_of(raw: bytes) -> list[json_parts.Part]:
    parts, found = Parts(raw), []
    while (part := at_once(parts.next())) is not None:
        found.append(part)
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_a_long_text_is_looked_at_and_read_in_pieces(text: bytes) -> None:
    data = b"[%b]" % long(text)
    raw = document(data, end=b',"a":NaN')
    parts = parts_of(raw)
    assert b"".join(part.text for part in parts).replace(b",", b"") == raw.replace(b",", b"")
    assert max(len(part.document) for part in parts) <= 3 * PART_BYTES
    (item,) = at_once(decode_large_request(raw)).inputs
    assert bytes(item.data) == data
    assert at_once(texts_in_slices(data)) is None
    found = at_once(read_in_slices(data, BYTES, 1, "x")).data
    assert isinstance(found, np.ndarray)
    expected = json.loads(data.decode("utf-8", "surrogateescape"))
    assert found.tolist() == [item.encode("utf-8", "surrogateescape") for item in expected]


def test_texts_between_long_ones_are_whole() -> None:
    texts = ["a" * LONG, "b", "", "ü" * LONG, "c" * 100, "\n" * LONG]
    for data in (texts, [texts[:1], [texts[1:]]]):
        raw = json.dumps(data, ensure_ascii=False).encode()
        found = at_once(read_in_slices(raw, BYTES, len(texts), "x")).data
        assert isinstance(found, np.ndarray)
        assert found.tolist() == [text.encode() for text in texts]


def test_one_look_bounds_what_is_done_in_one_turn() -> None:
    def turns(steps: Steps[Any]) -> int:
        return sum(1 for _ in steps)

    data = b"[%b]" % long(b"\\u00fc")
    raw = document(data, end=b',"a":NaN')
    assert turns(decode_large_request(raw)) >= LONG // PART_BYTES
    assert turns(read_in_slices(data, BYTES, 1, "x")) >= LONG // PART_BYTES


@pytest.mark.parametrize(
    "data",
    [
        b"[%b]" % (b"1" * LONG),
        b"[0.%b]" % (b"1" * LONG),
        b"[%b1]" % (b" " * LONG),
        b"[1%b]" % (b"\n" * LONG),
        b"[%b]" % b",".join([b" " * LONG + b"1", b"2"]),
    ],
)
@pytest.mark.parametrize("end", [b"", b',"a":NaN'])
def test_a_number_or_white_space_has_a_bound(data: bytes, end: bytes) -> None:
    def read() -> None:
        (item,) = at_once(decode_large_request(document(data, b"FP32", end))).inputs
        raw = bytes(item.data)
        if at_once(parsed_in_slices(raw, FP32, 1)) is None:
            at_once(read_in_slices(raw, FP32, 1, "x"))

    with pytest.raises(InvalidArgument, match=f"white space of more than {LONGEST} bytes"):
        read()


def test_a_name_has_a_bound() -> None:
    raw = b'{"inputs":[],%b:1,"a":NaN}' % long(b"a")
    with pytest.raises(InvalidArgument, match=f"a name, a number or .* {LONGEST} bytes"):
        at_once(decode_large_request(raw))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"x" * LONG, "Invalid value. at 0"),
        (b"-x" * LONG, "Invalid value. at "),
        (document(b'["%b' % (b"a" * LONG)), "Missing a closing quotation mark in string. at 62"),
        (document(b'["%b\x01"]' % (b"a" * LONG)), f"Invalid value. at {63 + LONG}"),
        (document(b'["%b\\x"]' % (b"a" * LONG)), f"Invalid escape .* at {63 + LONG}"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_in_the_whole(raw: bytes, told: str) -> None:
    raw = raw.rstrip(b"]}") if "quotation" in told else raw
    with pytest.raises(BadJson, match=told):
        at_once(decode_large_request(raw))


@pytest.mark.parametrize("high", range(1, 30))
def test_no_cut_is_within_a_character_or_an_escape(high: int) -> None:
    raw = 'a\\"\\\\ü\\ud83d\\ude00\\u00fc\U0001f600b'.encode()
    cut = text_cut(raw, 0, min(high, len(raw)))
    assert 0 <= cut <= high
    halves = [json.loads(b'"%b"' % part) for part in (raw[:cut], raw[cut:])]
    assert "".join(halves) == json.loads(b'"%b"' % raw)
    assert all(char < "\ud800" or char > "\udfff" for half in halves for char in half)


def test_what_is_no_utf8_is_cut_somewhere() -> None:
    raw = b"\x80" * 20
    assert character_cut(raw, 0, 10) == 10
    assert character_cut("ü".encode(), 0, 1) == 1


@pytest.mark.parametrize("data", [b'["a",%b]' % long(b"a"), b"[1e99,%b1]" % (b"2," * LONG)])
def test_what_was_read_of_refused_values_goes_at_once(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the next collection: a fault that is kept keeps its frames, and they the rest."""
    seen = []

    class Watched(tensors._Values):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            seen.append(weakref.ref(self))

    monkeypatch.setattr(tensors, "_Values", Watched)
    gc.disable()
    try:
        at_once(read_in_slices(data, BY_NAME["INT32"], data.count(b",") + 1, "x"))
    except RuntimeFault:
        (values,) = seen
    finally:
        gc.enable()
    assert values() is None

"""Large requests cut anywhere: what comes of them does not depend on the cuts, nor on the way."""

import json
import math
import random
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.http import json_parser, json_parts, outline, schema, tensors
from worker_runtime.protocols.http.schema import (
    RequestJson,
    check_source,
    decode_large_request,
    decode_request,
)
from worker_runtime.protocols.http.tensors import from_json, read_in_slices, texts_in_slices
from worker_runtime.protocols.slices import at_once
from worker_runtime.types.tensor import BY_NAME

COUNT = 100
NUMBERS = [1, -2, 2.5, 1e300, 300, 2**63, 10**30, math.nan, -math.inf, True, None]
TEXTS = ["", "a", 'b"\\', "],[", "{,}", "ü\U0001f600", "\n:", '"data":[', '\\"ü\U0001f600' * 9]
SIZES = [1, 3, 17, 40]


def nested(dice: random.Random, leaves: list[Any], depth: int = 0) -> Any:
    if depth < 3 and dice.random() < 0.3:
        return [nested(dice, leaves, depth + 1) for _ in range(dice.randrange(4))]
    return dice.choice(leaves)


def tensor(dice: random.Random, name: str) -> dict[str, Any]:
    datatype = dice.choice(["FP32", "INT8", "UINT64", "BOOL", "BYTES"])
    alike: list[Any] = TEXTS if datatype == "BYTES" else dice.choice([[1], [True], [2.5, math.nan]])
    leaves = [*NUMBERS, *TEXTS, {"k": [1]}] if dice.random() < 0.2 else alike
    data = [nested(dice, leaves) for _ in range(dice.randrange(1, 9))]
    found = {"name": name, "datatype": datatype, "shape": [len(data)], "data": data}
    if dice.random() < 0.3:
        found["more"] = nested(dice, leaves)
    members = list(found.items())
    dice.shuffle(members)
    return dict(members)


def document(dice: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"inputs": [tensor(dice, name) for name in "ab"[: dice.randrange(3)]]}
    if dice.random() < 0.3:
        found["parameters"] = {"p": dice.choice([1, "x", {"data": [1, 2]}])}
    if dice.random() < 0.3:
        found["outputs"] = [{"name": "o", "data": [1, [2, math.nan]]}]
    if dice.random() < 0.2:
        found["id"] = dice.choice(["", "x", 7])
    members = list(found.items())
    dice.shuffle(members)
    return dict(members)


def broken(dice: random.Random, text: bytes) -> bytes:
    at, char = dice.randrange(len(text)), dice.choice([*b'[]{},:"\\ 1N\x0b'])
    how = dice.randrange(3)
    return text[:at] + (bytes([char]) if how else b"") + text[at + (how < 2) :]


def values_of(request: RequestJson, *, sliced: bool) -> list[Any]:
    found = []
    for item in request.inputs:
        check_source(has_data=item.has_data, parameters=item.parameters or {})
        raw = item.values or bytes(item.data)
        kind, count = BY_NAME.get(item.datatype, BY_NAME["FP32"]), sum(item.shape[:1])
        if sliced and isinstance(raw, bytes):
            data = at_once(read_in_slices(raw, kind, count, item.name)).data
        else:
            data = from_json(raw, kind, count, item.name)
        found.append(data.tolist() if isinstance(data, np.ndarray) else bytes(data))
    return found


def told(body: bytes, *, sliced: bool) -> Any:
    """What comes of it, or what is said of it."""
    try:
        request = at_once(decode_large_request(body)) if sliced else decode_request(body)
        values = values_of(request, sliced=sliced)
    except RuntimeFault as fault:
        return type(fault), str(fault)
    said = [(i.name, i.datatype, i.shape, i.parameters) for i in request.inputs]
    return said, request.id, repr(request.parameters), repr(request.outputs), values


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Small documents are read as large ones are, and cut after so many bytes or somewhat later."""
    monkeypatch.setattr(json_parser, "_EXACT_BELOW", 0)
    monkeypatch.setattr(json_parts, "PART_BYTES", request.param)
    monkeypatch.setattr(outline, "_LARGE", 3)
    yield request.param


@pytest.mark.parametrize("quick", [0, 1 << 20])
def test_requests_cut_anywhere_say_the_same(
    size: int, quick: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "_QUICK_BYTES", quick)
    dice = random.Random(size)
    refused = 0
    for _ in range(COUNT):
        separators = dice.choice([(",", ":"), (", ", ": "), (" ,\n", " : ")])
        ascii_only = dice.random() < 0.7
        text = json.dumps(document(dice), separators=separators, ensure_ascii=ascii_only)
        body = text.encode()
        expected = told(body, sliced=False)
        refused += isinstance(expected[0], type)
        assert told(body, sliced=True) == expected, body
    assert 0.1 < refused / COUNT < 0.9


@pytest.mark.parametrize("huge", [0, 1 << 20])
def test_what_is_no_json_is_refused_in_the_same_words(
    size: int, huge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its place in the whole document."""
    monkeypatch.setattr(outline, "_QUICK_BYTES", 0)
    monkeypatch.setattr(json_parser, "_HUGE", huge)
    dice = random.Random(size)
    refused = 0
    for _ in range(COUNT):
        body = broken(dice, json.dumps(document(dice)).encode())
        if body.count(b'"inputs"') > 1 or body.count(b'"data"') > body.count(b'"datatype"'):
            continue
        expected = told(body, sliced=False)
        refused += "failed to parse" in str(expected[1])
        assert told(body, sliced=True) == expected, body
    assert refused > COUNT / 4


def test_texts_cut_anywhere_are_the_same(size: int) -> None:
    dice = random.Random(size)
    taken = 0
    with mock.patch.object(tensors, "SLICE_BYTES", size):
        for _ in range(COUNT):
            texts = [dice.choice([*TEXTS, ",", "\\", "[", "abc" * 9]) for _ in range(20)]
            data: list[Any] = texts if dice.random() < 0.7 else [texts, texts]
            raw = json.dumps(data, separators=(dice.choice([",", ", ", " , "]), ":")).encode()
            found = at_once(texts_in_slices(raw))
            expected = from_json(raw, BY_NAME["BYTES"], 20, "x")
            assert isinstance(expected, np.ndarray)
            if found is not None:
                taken += 1
                assert isinstance(found.data, np.ndarray)
                assert found.data.tolist() == expected.tolist()
            else:
                assert data is not texts
    assert taken > COUNT / 2


def test_all_that_is_no_value_of_a_tensor_has_a_bound() -> None:
    """Whatever it is: members of one object, dimensions, inputs. Values have none."""
    given = b'"name":"x","datatype":"FP32","shape":[%b],"data":[%b]'
    most = schema.MOST_OUTLINE
    many = b",".join([b"1"] * most)
    for shape, more in (
        (b"1", b',"parameters":{"p":[%b]}' % many),
        (many, b""),
        (many, b',"a":NaN'),
    ):
        body = b'{"inputs":[{%b}]%b}' % (given % (shape, b"1"), more)
        with pytest.raises(InvalidArgument, match=f"maximum allowed value of {most} bytes"):
            at_once(decode_large_request(body))
    for more in (b"", b',"a":NaN'):
        body = b'{"inputs":[{%b}]%b}' % (given % (b"%d" % most, many), more)
        (item,) = at_once(decode_large_request(body)).inputs
        assert bytes(item.data) == b"[%b]" % many


@pytest.mark.parametrize("more", [b"", b',"a":NaN'])
@pytest.mark.parametrize("count", [4, 100_000, 1_000_000])
def test_of_what_is_given_twice_the_first_counts(count: int, more: bytes) -> None:
    """As in small requests, and in Triton."""
    first, second = b",".join([b"1"] * count), b",".join([b"2"] * count)
    given = b'"name":"x","datatype":"INT8","shape":[%d]' % count
    body = b'{"inputs":[{%b,"data":[%b],"data":[%b],"name":"y"}]%b}' % (given, first, second, more)
    request = at_once(decode_large_request(body))
    assert request.inputs[0].name == "x"
    assert values_of(request, sliced=True) == [b"\1" * count]


@pytest.mark.parametrize("quick", [0, 1 << 20])
def test_what_is_the_same_as_values_and_stands_before_them_stays(
    quick: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "_QUICK_BYTES", quick)
    data = list(range(2000))
    given = {"name": "x", "datatype": "INT64", "shape": [2000], "data": data}
    body = json.dumps({"parameters": {"p": data, "q": {"data": data}}, "inputs": [given]}).encode()
    request = at_once(decode_large_request(body))
    assert request.parameters == {"p": data, "q": {"data": data}}
    assert values_of(request, sliced=True) == [np.array(data).tobytes()]

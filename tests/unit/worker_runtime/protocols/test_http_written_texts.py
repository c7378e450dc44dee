"""BYTES as JSON in slices: the same text as in one go, in pieces of bounded size."""

import json
import re
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import numpy as np
import pytest

from worker_runtime.protocols.forms import OutputForm, Region
from worker_runtime.protocols.http.encode import encode
from worker_runtime.protocols.http.tensors import SLICE_BYTES, encode_response, to_json
from worker_runtime.protocols.http.written_texts import is_large, written_texts
from worker_runtime.protocols.slices import Later, at_once
from worker_runtime.types.tensor import BY_NAME, write_strings

BYTES = BY_NAME["BYTES"]
LONG = 5 * SLICE_BYTES


def array(*items: Any) -> Any:
    found = np.empty(len(items), object)
    found[:] = items
    return found


ARRAYS = [
    array(b"a" * LONG),
    array(b'"\\\n\x01' * LONG),
    array(("ü\U0001f600" * LONG).encode()),
    array(b"\xff" * LONG, b"\x80" * LONG),
    array(b"a\xc3" * LONG),
    array("text of a model " * LONG),
    array(b"", b"a" * LONG, b"b", b"c" * SLICE_BYTES, b"", b"d" * LONG, b""),
    array(*[b"a" * 100] * 5000).reshape(50, 100),
    array(b"a"),
    array(),
]


@pytest.mark.parametrize("texts", ARRAYS, ids=range(len(ARRAYS)))
def test_texts_are_the_same_as_in_one_go(texts: Any) -> None:
    pieces = at_once(written_texts(texts))
    assert b"".join(pieces) == encode_response(to_json(texts, BYTES), finite=True)
    assert max(map(len, pieces)) <= 6 * SLICE_BYTES  # of which each byte becomes an escape


def test_each_slice_is_one_turn() -> None:
    for texts in ARRAYS[:3]:
        assert sum(1 for _ in written_texts(texts)) >= len(texts[0]) // SLICE_BYTES


def test_few_long_texts_are_large() -> None:
    assert is_large(array(b"a" * LONG))
    assert is_large(array(*["a"] * 5000))
    assert not is_large(array(b"a" * 1000, "b", None))


@pytest.mark.parametrize(("size", "later"), [(100, False), (LONG, True)])
def test_an_answer_with_a_long_text_is_written_later(size: int, later: bool) -> None:
    output = SimpleNamespace(name="o", datatype=BYTES)
    model = SimpleNamespace(name="m", version=1, signature=SimpleNamespace(outputs=[output]))
    form = SimpleNamespace(
        special=False, heads=None, id="", windows=None, outputs={"o": OutputForm(binary=False)}
    )
    plan = SimpleNamespace(outputs=["o"])
    request = cast("Any", SimpleNamespace(model=model, id="", form=form, plan=plan, inputs=[]))
    head = cast("Any", SimpleNamespace(accept_encoding=""))
    try:
        _, parts, length = encode(head, request, [array(b"a" * size)])
        assert not later
    except Later as found:
        _, parts, length = at_once(found.steps)
        assert later
    text = b"".join(parts)
    assert len(text) == length
    assert b'"data":["%b"]' % (b"a" * size) in text


@pytest.mark.parametrize("window", [False, True])
def test_many_binary_texts_are_written_later_in_their_place(window: bool) -> None:
    names = ["a", "b", "c"]
    model = SimpleNamespace(name="m", version=1, signature=SimpleNamespace(outputs=[]))
    region = Region("r", 0, 10**6) if window else None
    outputs = {name: OutputForm() for name in "ac"} | {"b": OutputForm(region=region)}
    room = SimpleNamespace(byte_size=10**6, write=mock.Mock())
    form = SimpleNamespace(
        special=window, heads={}, id="", windows={"b": room} if window else None, outputs=outputs
    )
    plan = SimpleNamespace(outputs=names)
    request = cast("Any", SimpleNamespace(model=model, id="", form=form, plan=plan, inputs=[]))
    head = cast("Any", SimpleNamespace(accept_encoding=""))
    arrays = [array(*[text] * 5000) for text in (b"1", b"2", b"3")]
    with pytest.raises(Later) as later:
        encode(head, request, arrays)
    start, parts, length = at_once(later.value.steps)
    body = b"".join(parts)
    assert len(body) == length
    wire = {name: write_strings(each) for name, each in zip(names, arrays, strict=True)}
    size = int(re.search(rb"Inference-Header-Content-Length: (\d+)", start)[1])  # type: ignore[index]
    sizes = [
        row.get("parameters", {}).get("binary_data_size")
        for row in json.loads(body[:size])["outputs"]
    ]
    if window:
        room.write.assert_called_once_with(wire["b"])
        assert sizes == [25_000, None, 25_000]
        assert body[size:] == wire["a"] + wire["c"]
    else:
        assert sizes == [25_000] * 3
        assert body[size:] == b"".join(wire.values())

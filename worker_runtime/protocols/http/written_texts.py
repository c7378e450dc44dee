"""BYTES as JSON in slices that are bounded by their bytes: one text may be larger than a slice."""

from typing import Any

import numpy as np

from worker_runtime.protocols.http.limits import LARGE_JSON
from worker_runtime.protocols.http.long_texts import character_cut
from worker_runtime.protocols.http.tensors import (
    SLICE_BYTES,
    SLICE_ELEMENTS,
    encode_response,
    to_json,
)
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.tensor import BY_NAME

Texts = np.ndarray[Any, Any]
_BYTES = BY_NAME["BYTES"]


def is_large(texts: Texts) -> bool:
    """Whether writing them in one go would hold the event loop up."""
    return texts.size > SLICE_ELEMENTS or length(texts) >= LARGE_JSON


def length(texts: Texts) -> int:
    """Of all of them together, in bytes or characters as they are."""
    # why one apart: it is the most frequent answer, and this is twice as quick
    flat = [texts.item()] if texts.size == 1 else texts.reshape(-1).tolist()
    try:
        return sum(map(len, flat))
    except TypeError:  # numbers, which a model gave for texts
        return sum([len(str(text)) for text in flat])


def written_texts(texts: Texts) -> Steps[list[bytes]]:
    """The elements as a list of JSON, in pieces that follow each other."""
    pieces, flat = list[bytes](), texts.reshape(-1)
    for begin in range(0, flat.size, SLICE_ELEMENTS):
        part = flat[begin : begin + SLICE_ELEMENTS]
        if is_large(part):
            yield from _one_by_one(part, pieces)
        else:
            pieces += (b",", encode_response(to_json(part, _BYTES), finite=True)[1:-1])
            yield None
    return [b"[", *pieces[1:], b"]"]


def _one_by_one(part: Texts, pieces: list[bytes]) -> Steps[None]:
    waiting, size = list[bytes](), 0
    for item in part:
        text = item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape")
        if waiting and size + len(text) > SLICE_BYTES:
            pieces += (b",", _written(waiting)[1:-1])
            waiting, size = [], 0
            yield None
        if len(text) > SLICE_BYTES:
            yield from _long(text, pieces)
        else:
            waiting.append(text)
            size += len(text)
    if waiting:
        pieces += (b",", _written(waiting)[1:-1])
        yield None


def _long(text: bytes, pieces: list[bytes]) -> Steps[None]:
    pieces += (b",", b'"')
    begin = 0
    while begin < len(text):
        end = character_cut(text, begin, min(begin + SLICE_BYTES, len(text)))
        pieces.append(_written([text[begin:end]])[2:-2])
        begin = end
        yield None
    pieces.append(b'"')


def _written(texts: list[bytes]) -> bytes:
    plain = [text.decode("utf-8", "surrogateescape") for text in texts]
    return encode_response(plain, finite=True)

"""Outputs to an HTTP answer: one cached head for the common all-binary case, JSON otherwise."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from worker_runtime.core.classification import classify
from worker_runtime.core.model import ModelVersion
from worker_runtime.protocols.http.compression import best_coding, compress
from worker_runtime.protocols.http.decode import Form
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.tensors import encode_response, to_json
from worker_runtime.types.request import Arrays, InferRequest
from worker_runtime.types.strings import write_strings
from worker_runtime.types.tensor import BY_DTYPE, BY_NAME

_COPY_BELOW = 16 * 1024  # smaller tensors are cheaper to copy than to hold on to
_MAX_HEADS = 64
_ID_EXTRA = len('"id":"",')

Answer = tuple[bytes, Sequence[Any], int]  # head, body parts, body size


def encode(head: Head, request: InferRequest, outputs: Arrays) -> Answer:
    """The answer to ``request``. Raises InvalidArgument when an output cannot be written."""
    form: Form = request.form
    heads = form.heads
    # A form with an id of its own is one whose id could not be taken off: it may need escaping.
    if heads is None or form.id or head.accept_encoding:
        return _encode_any(head, request, outputs)
    shapes = tuple([array.shape for array in outputs])
    known = heads.get(shapes)
    if known is None:
        known = _plain_head(request, outputs)
        if known is None:
            return _encode_any(head, request, outputs)
        if len(heads) >= _MAX_HEADS:
            heads.clear()
        heads[shapes] = known
    start, text, size = known
    if request.id:
        text = b'{"id":"%s",%s' % (request.id.encode(), text[1:])
        size += len(request.id) + _ID_EXTRA
        start = _binary_head(len(text), size)
    return start + text, [raw_bytes(array) for array in outputs], size


def raw_bytes(array: "np.ndarray[Any, Any]") -> Any:
    """The memory of a C-contiguous array; small ones as a copy."""
    if array.nbytes < _COPY_BELOW:
        return array.tobytes()
    return array.data.cast("B")


def _plain_head(request: InferRequest, outputs: Arrays) -> tuple[bytes, bytes, int] | None:
    """Head, JSON and size of an all-binary answer without id: they depend on shapes only."""
    model: ModelVersion = request.model
    described = []
    total = 0
    for name, array in zip(request.plan.outputs, outputs, strict=True):
        if array.dtype == object or not array.nbytes:
            return None
        described.append(_described(name, array, binary=array.nbytes))
        total += array.nbytes
    text = msgspec.json.encode(_named(model) | {"outputs": described})
    size = len(text) + total
    return _binary_head(len(text), size), text, size


def _preamble(request: InferRequest, model: ModelVersion) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": request.id} if request.id else {}
    return shown | _named(model)


def _named(model: ModelVersion) -> dict[str, Any]:
    return {"model_name": model.name, "model_version": str(model.version)}


def _described(
    name: str, array: "np.ndarray[Any, Any]", *, binary: int | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "datatype": BY_DTYPE[array.dtype].name,
        "shape": list(array.shape),
    }
    if binary is not None:
        row["parameters"] = {"binary_data_size": binary}
    return row


def _binary_head(json_size: int, size: int, coding: bytes = b"") -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n%s"
        b"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n"
    ) % (coding, json_size, size)


def _encode_any(head: Head, request: InferRequest, outputs: Arrays) -> Answer:
    """Any mix of binary, JSON and classified outputs, compressed if the client likes."""
    form: Form = request.form
    model: ModelVersion = request.model
    rows: list[dict[str, Any]] = []
    parts: list[Any] = []
    finite = True
    for name, array, wish in zip(request.plan.outputs, outputs, form.outputs, strict=True):
        if wish.classes:
            array = classify(model.signature, name, array, wish.classes)
        datatype = BY_DTYPE[array.dtype]
        if wish.binary:
            raw = raw_bytes(array) if datatype.item_size else write_strings(array)
            rows.append(_described(name, array, binary=len(raw)))
            parts.append(raw)
        else:
            row = _described(name, array)
            row["data"] = to_json(array, BY_NAME[datatype.name], name)
            finite = finite and (array.dtype.kind != "f" or bool(np.isfinite(array).all()))
            rows.append(row)
    text = encode_response(_preamble(request, model) | {"outputs": rows}, finite=finite)
    return _compose(head, text, [part for part in parts if len(part)])


def _compose(head: Head, text: bytes, parts: list[Any]) -> Answer:
    coding = best_coding(head.accept_encoding) if head.accept_encoding else ""
    line = b""
    body: list[Any] = [text, *parts]
    if coding:
        body = [compress(b"".join(body), coding)]
        line = b"Content-Encoding: %s\r\n" % coding.encode()
    size = sum(len(part) for part in body)
    if parts:
        return _binary_head(len(text), size, line), body, size
    start = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
    ) % (line, size)
    return start, body, size

"""Outputs to an HTTP answer: one cached head for the common all-binary case, JSON otherwise."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from worker_runtime.core.classification import classify
from worker_runtime.protocols.engine import Model
from worker_runtime.protocols.forms import MAX_ANSWER_HEADS, OutputForm, fill, remember
from worker_runtime.protocols.http.compression import best_coding, compress
from worker_runtime.protocols.http.forms import HttpForm
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.tensors import encode_response, is_finite, to_json
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue
from worker_runtime.types.strings import write_strings
from worker_runtime.types.tensor import BY_DTYPE, BY_NAME, DataType

_COPY_BELOW = 16 * 1024  # smaller tensors are cheaper to copy than to hold on to
_PLAIN = OutputForm(binary=False)  # of an output that nobody asked for
_ID_EXTRA = len('"id":"",')


def encode(head: Head, request: InferRequest, outputs: Arrays) -> Answer:
    """The answer to ``request``. Raises a RuntimeFault when an output cannot be written."""
    form: HttpForm = request.form
    heads = form.heads
    # A form with an id of its own is one whose id could not be taken off: it may need escaping.
    if heads is None or form.id or head.accept_encoding:
        return encode_any(head, request, request.plan.outputs, outputs)
    shapes = tuple([array.shape for array in outputs])
    known = heads.get(shapes)
    if known is None:
        known = _plain_head(request, outputs)
        if known is None:
            return encode_any(head, request, request.plan.outputs, outputs)
        remember(heads, shapes, known, MAX_ANSWER_HEADS)
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
    model: Model = request.model
    types = wire_types(model)
    described = []
    total = 0
    for name, array in zip(request.plan.outputs, outputs, strict=True):
        if array.dtype == object or not array.nbytes:
            return None
        described.append(_described(name, array, wire_type(types, name, array), array.nbytes))
        total += array.nbytes
    text = msgspec.json.encode(named(model) | {"outputs": described})
    size = len(text) + total
    return _binary_head(len(text), size), text, size


def named(model: Model, request_id: str = "") -> dict[str, Any]:
    """The members that every answer begins with."""
    shown: dict[str, Any] = {"id": request_id} if request_id else {}
    return shown | {"model_name": model.name, "model_version": str(model.version)}


def wire_types(model: Model) -> dict[str, DataType]:
    """The configured data types of the outputs."""
    return {spec.name: spec.datatype for spec in model.signature.outputs}


def wire_type(types: dict[str, DataType], name: str, array: "np.ndarray[Any, Any]") -> DataType:
    """What an output is on the wire; numpy has no type of its own for some of them."""
    configured = types.get(name)
    if configured is not None and configured.dtype == array.dtype:
        return configured
    return BY_DTYPE[array.dtype]


def _described(
    name: str, array: "np.ndarray[Any, Any]", datatype: DataType, binary: int | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "datatype": datatype.name, "shape": list(array.shape)}
    if binary is not None:
        row["parameters"] = {"binary_data_size": binary}
    return row


def _binary_head(json_size: int, size: int, coding: bytes = b"") -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n%s"
        b"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n"
    ) % (coding, json_size, size)


def encode_any(
    head: Head,
    request: InferRequest,
    names: Sequence[str],
    outputs: Arrays,
    parameters: dict[str, ParameterValue] | None = None,
) -> Answer:
    """Any mix of binary, JSON, classified and shared-memory outputs, compressed if wished.

    What the request held of shared memory is free again afterwards.
    """
    form: HttpForm = request.form
    try:
        return _encode_any(head, request, form, names, outputs, parameters)
    finally:
        if form.special:
            request.inputs = []
            if form.windows is not None:
                form.windows.clear()


def _encode_any(
    head: Head,
    request: InferRequest,
    form: HttpForm,
    names: Sequence[str],
    outputs: Arrays,
    parameters: dict[str, ParameterValue] | None,
) -> Answer:
    model: Model = request.model
    types = wire_types(model)
    rows: list[dict[str, Any]] = []
    parts: list[Any] = []
    finite = True
    for name, array in zip(names, outputs, strict=True):
        wish = form.outputs.get(name, _PLAIN)
        datatype = wire_type(types, name, array)
        if wish.classes:
            array = classify(model.signature, name, array, wish.classes)
            datatype = BY_NAME["BYTES"]
        if wish.binary or wish.region is not None:
            raw = raw_bytes(array) if datatype.item_size else write_strings(array)
            if wish.region is not None and form.windows is not None:
                fill(form.windows[name], name, raw, len(raw))
                rows.append(_described(name, array, datatype))
            else:
                rows.append(_described(name, array, datatype, len(raw)))
                parts.append(raw)
        else:
            row = _described(name, array, datatype)
            row["data"] = to_json(array, datatype)
            finite = finite and is_finite(array)
            rows.append(row)
    shown = named(model, request.id)
    if parameters:
        shown["parameters"] = parameters
        finite = finite and all(
            math.isfinite(v) for v in parameters.values() if isinstance(v, float)
        )
    text = encode_response(shown | {"outputs": rows}, finite=finite)
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

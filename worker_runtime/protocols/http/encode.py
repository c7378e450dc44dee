"""Outputs to an HTTP answer: one cached head for the common all-binary case, JSON otherwise."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from worker_runtime.core.classification import classify, classify_in_slices, given_back
from worker_runtime.core.classification import takes_long as sorts_long
from worker_runtime.core.shared_memory import Window
from worker_runtime.protocols.engine import Model
from worker_runtime.protocols.forms import MAX_ANSWER_HEADS, OutputForm, fill, remember
from worker_runtime.protocols.http.compression import best_coding, compressed
from worker_runtime.protocols.http.forms import HttpForm
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.tensors import (
    SLICE_ELEMENTS,
    encode_response,
    is_finite,
    to_json,
    written_in_slices,
)
from worker_runtime.protocols.http.written_texts import is_large, written_texts
from worker_runtime.protocols.slices import Later, Steps
from worker_runtime.protocols.strings import written_in_slices as strings_in_slices
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue
from worker_runtime.types.tensor import (
    BY_DTYPE,
    BY_NAME,
    MANY_STRINGS,
    DataType,
    write_strings,
)

_COPY_BELOW = 16 * 1024  # smaller tensors are cheaper to copy than to hold on to
_PLAIN = OutputForm(binary=False)  # of an output that nobody asked for
_ID_EXTRA = len('"id":"",')


def encode(head: Head, request: InferRequest, outputs: Arrays) -> Answer:
    """The answer to ``request``. Raises Later where it takes long, and a RuntimeFault when an
    output cannot be written.
    """
    form: HttpForm = request.form
    heads = form.heads
    # A form with an id of its own is one whose id could not be taken off: it may need escaping.
    if heads is None or form.id or head.accept_encoding:
        return _described_answer(head, request, request.plan.outputs, outputs)
    shapes = tuple([array.shape for array in outputs])
    known = heads.get(shapes)
    if known is None:
        known = _plain_head(request, outputs)
        if known is None:
            return _described_answer(head, request, request.plan.outputs, outputs)
        remember(heads, shapes, known, MAX_ANSWER_HEADS)
    start, text, size = known
    if request.id:
        text = b'{"id":"%s",%s' % (request.id.encode(), text[1:])
        size += len(request.id) + _ID_EXTRA
        start = _binary_head(len(text), size)
    return start + text, [raw_bytes(array) for array in outputs], size


def encode_any(
    head: Head,
    request: InferRequest,
    names: Sequence[str],
    outputs: Arrays,
    parameters: dict[str, ParameterValue] | None = None,
) -> Answer:
    """An answer that says itself what is in it: an ensemble's, or one with parameters.

    What the request held of shared memory is free again afterwards. Raises as ``encode`` does.
    """
    form: HttpForm = request.form
    heads = form.heads
    if heads is None or form.id or head.accept_encoding or names != request.plan.outputs:
        return _described_answer(head, request, names, outputs, parameters)
    # why their types: they are what a model gave, not always what is configured.
    kinds = tuple([(array.shape, array.dtype) for array in outputs])
    known = heads.get(kinds)
    if known is None:
        plain = _plain_head(request, outputs)
        if plain is None:
            return _described_answer(head, request, names, outputs, parameters)
        _, text, size = plain
        cut = len(msgspec.json.encode(named(request.model))) - 1  # parameters come next
        known = text[1:cut], text[cut:], size - len(text)
        remember(heads, kinds, known, MAX_ANSWER_HEADS)
    front, back, size = known
    start = b'{"id":"%s",' % request.id.encode() if request.id else b"{"
    if parameters:
        shown = encode_response(parameters, finite=_all_finite(parameters))
        text = b'%s%s,"parameters":%s%s' % (start, front, shown, back)
    else:
        text = b"%s%s%s" % (start, front, back)
    size += len(text)
    return (
        _binary_head(len(text), size),
        [text, *[raw_bytes(array) for array in outputs]],
        size,
    )


def _all_finite(parameters: dict[str, ParameterValue]) -> bool:
    return all(math.isfinite(v) for v in parameters.values() if isinstance(v, float))


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


def _described_answer(
    head: Head,
    request: InferRequest,
    names: Sequence[str],
    outputs: Arrays,
    parameters: dict[str, ParameterValue] | None = None,
) -> Answer:
    """Any mix of binary, JSON, classified and shared-memory outputs, compressed if wished.

    What the request held of shared memory is free again afterwards. Raises Later for what takes
    long, and a RuntimeFault.
    """
    wishes = request.form.outputs
    if any(
        name in wishes and (classes := wishes[name].classes) and sorts_long(array, classes)
        for name, array in zip(names, outputs, strict=True)
    ):
        raise Later(_classified_first(head, request, names, outputs, parameters))
    return _shown(head, request, names, outputs, parameters, {})


def _classified_first(
    head: Head,
    request: InferRequest,
    names: Sequence[str],
    outputs: Arrays,
    parameters: dict[str, ParameterValue] | None,
) -> Steps[Answer]:
    classified: Classified = {}
    for name, array in zip(names, outputs, strict=True):
        wish = request.form.outputs.get(name, _PLAIN)
        if wish.classes:
            classified[name] = yield from classify_in_slices(
                request.model.signature, name, array, wish.classes
            )
    try:
        return _shown(head, request, names, outputs, parameters, classified)
    except Later as later:
        found: Answer = yield from later.steps
    yield from given_back(classified.values())
    return found


Classified = dict[str, "np.ndarray[Any, Any]"]  # outputs for which that is done already


def _shown(
    head: Head,
    request: InferRequest,
    names: Sequence[str],
    outputs: Arrays,
    parameters: dict[str, ParameterValue] | None,
    classified: Classified,
) -> Answer:
    form: HttpForm = request.form
    try:
        rows, finite, large, parts, many = _rows(request, form, names, outputs, classified)
    finally:
        if form.special:
            request.inputs = []
            if form.windows is not None:
                form.windows.clear()
    shown = named(request.model, request.id)
    if parameters:
        shown["parameters"] = parameters
        finite = finite and _all_finite(parameters)
    coding = best_coding(head.accept_encoding) if head.accept_encoding else ""
    if large or many or coding:
        raise Later(_in_slices(shown, rows, large, parts, many, coding, finite=finite))
    shown["outputs"] = rows
    return _composed([encode_response(shown, finite=finite)], parts)


LargeArrays = dict[Any, tuple["np.ndarray[Any, Any]", DataType]]  # by whatever finds them
# BYTES of many elements that are not written yet: by their row, where in the binary parts they
# come, or the memory that they go to.
_ManyStrings = dict[int, tuple["np.ndarray[Any, Any]", int, Window | None]]


def takes_long(array: "np.ndarray[Any, Any]") -> bool:
    """Whether writing its elements as JSON in one go would hold the event loop up."""
    return array.size > SLICE_ELEMENTS or (array.dtype == object and is_large(array))


def written_data(array: "np.ndarray[Any, Any]", datatype: DataType) -> Steps[list[bytes]]:
    """The elements as a list of JSON, in pieces that follow each other, the brackets apart."""
    if array.dtype == object:
        return (yield from written_texts(array))
    return (yield from written_in_slices(array, datatype))


def _rows(
    request: InferRequest,
    form: HttpForm,
    names: Sequence[str],
    outputs: Arrays,
    classified: Classified,
) -> tuple[list[dict[str, Any]], bool, LargeArrays, list[Any], _ManyStrings]:
    """The outputs as they are shown; whether all numbers in them are finite; by their place there
    the large ones, whose data is still to be written; the binary parts; those of them to come.
    """
    model: Model = request.model
    types = wire_types(model)
    rows: list[dict[str, Any]] = []
    large: LargeArrays = {}
    parts: list[Any] = []
    many: _ManyStrings = {}
    finite = True
    for name, array in zip(names, outputs, strict=True):
        wish = form.outputs.get(name, _PLAIN)
        datatype = wire_type(types, name, array)
        if wish.classes:
            if name in classified:
                array = classified[name]
            else:
                array = classify(model.signature, name, array, wish.classes)
            datatype = BY_NAME["BYTES"]
        if wish.binary or wish.region is not None:
            window = form.windows[name] if wish.region and form.windows is not None else None
            if array.size > MANY_STRINGS and not datatype.item_size:
                many[len(rows)] = (array, len(parts), window)
                rows.append(_described(name, array, datatype))
                continue
            raw = raw_bytes(array) if datatype.item_size else write_strings(array)
            if window is not None:
                fill(window, name, raw, len(raw))
                rows.append(_described(name, array, datatype))
            else:
                rows.append(_described(name, array, datatype, len(raw)))
                parts.append(raw)
            continue
        row = _described(name, array, datatype)
        if takes_long(array):
            large[len(rows)] = (array, datatype)
        else:
            row["data"] = to_json(array, datatype)
            finite = finite and is_finite(array)
        rows.append(row)
    return rows, finite, large, parts, many


def _in_slices(
    shown: dict[str, Any],
    rows: list[dict[str, Any]],
    large: LargeArrays,
    parts: list[Any],
    many: _ManyStrings,
    coding: str,
    *,
    finite: bool,
) -> Steps[Answer]:
    """The same answer, its JSON and its many strings in pieces."""
    moved = 0
    for number, (array, place, window) in many.items():
        pieces = yield from strings_in_slices(array)
        size = sum(map(len, pieces))
        if window is not None:
            fill(window, rows[number]["name"], b"".join(pieces), size)
        else:
            rows[number]["parameters"] = {"binary_data_size": size}
            parts[place + moved : place + moved] = pieces
            moved += len(pieces)
    text = [encode_response(shown, finite=finite)[:-1], b',"outputs":[']
    for number, row in enumerate(rows):
        text += (b"," if number else b"", encode_response(row, finite=finite)[:-1])
        if number in large:
            data = yield from written_data(*large[number])
            text += (b',"data":', *data)
        text.append(b"}")
    text.append(b"]}")
    if not coding:
        return _composed(text, parts)
    packed = yield from compressed([*text, *parts], coding)
    return _composed(text, parts, coding, packed)


def _composed(
    text: list[bytes], parts: list[Any], coding: str = "", packed: bytes | None = None
) -> Answer:
    """``packed`` is all of it, compressed."""
    line = b"Content-Encoding: %s\r\n" % coding.encode() if coding else b""
    parts = [part for part in parts if len(part)]
    body = [*text, *parts] if packed is None else [packed]
    size = sum([len(part) for part in body])
    if parts:
        return _binary_head(sum(map(len, text)), size, line), body, size
    start = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
    ) % (line, size)
    return start, body, size

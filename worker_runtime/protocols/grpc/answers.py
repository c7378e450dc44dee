"""Outputs to ModelInferResponse, in bytes: raw contents, one entry per output, in order."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from worker_runtime.core.classification import classify, classify_in_slices, given_back, takes_long
from worker_runtime.core.shared_memory import Window
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.engine import Model
from worker_runtime.protocols.forms import MAX_ANSWER_HEADS, fill, remember
from worker_runtime.protocols.grpc.requests import GrpcForm
from worker_runtime.protocols.grpc.transport import Parts
from worker_runtime.protocols.grpc.wire import answer_id, raw_field, streamed_head
from worker_runtime.protocols.slices import Later, Steps
from worker_runtime.protocols.strings import written_in_slices
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue
from worker_runtime.types.tensor import BY_DTYPE, MANY_STRINGS, write_strings
from worker_runtime.types.triton_messages import service_pb2 as pb

Message = tuple[Parts, int]  # and the size of all of them in bytes

FINAL = "triton_final_response"
_LARGEST = 2**31 - 1
_INT64 = 1 << 63


def _final_parameter(*, final: bool) -> bytes:
    message = pb.ModelInferResponse()
    message.parameters[FINAL].bool_param = final
    return bytes(message.SerializeToString())


_FINAL = _final_parameter(final=True)
_NOT_FINAL = _final_parameter(final=False)


def aligned(request: InferRequest, outputs: Arrays) -> Message:
    """The one answer of a usual model: a ModelInferResponse.

    Raises Later for BYTES of many elements, and a RuntimeFault when an output cannot be written, or
    all are too large for gRPC.
    """
    form: GrpcForm = request.form
    heads = form.heads
    if heads is None:
        return _composed(request, request.plan.outputs, outputs)
    shapes = tuple([array.shape for array in outputs])
    known = heads.get(shapes)
    if known is None:
        known = _heads(request, outputs)
        if known is None:
            return _composed(request, request.plan.outputs, outputs)
        remember(heads, shapes, known, MAX_ANSWER_HEADS)
    start, fields, size = known
    parts: Parts = [start]
    if request.id:
        request_id = answer_id(request.id)
        parts.append(request_id)
        size += len(request_id)
    for field, array in zip(fields, outputs, strict=True):
        parts.append(field)
        parts.append(array)
    return parts, size


def answer(
    request: InferRequest,
    names: Sequence[str],
    arrays: Sequence["np.ndarray[Any, Any]"],
    parameters: "dict[str, ParameterValue] | None" = None,
) -> Message:
    """An answer that says itself what is in it: an ensemble's, or one with parameters.

    Raises as ``aligned`` does.
    """
    form: GrpcForm = request.form
    heads = form.heads
    if heads is None or names != request.plan.outputs:
        return _composed(request, names, arrays, parameters)
    # why their types: they are what a model gave, not always what is configured.
    kinds = tuple([(array.shape, array.dtype, array.flags.c_contiguous) for array in arrays])
    known = heads.get(kinds)
    if known is None:
        known = _heads(request, arrays) if all(kind[2] for kind in kinds) else None
        if known is None:
            return _composed(request, names, arrays, parameters)
        remember(heads, kinds, known, MAX_ANSWER_HEADS)
    start, fields, size = known
    described = answer_id(request.id) + _parameter_fields(parameters)
    parts: Parts = [start, described]
    for field, array in zip(fields, arrays, strict=True):
        parts.append(field)
        parts.append(array)
    return parts, _checked(size + len(described))


def _composed(
    request: InferRequest,
    names: Sequence[str],
    arrays: Sequence["np.ndarray[Any, Any]"],
    parameters: "dict[str, ParameterValue] | None" = None,
) -> Message:
    """Any answer, protobuf writing all but the raw tensors."""
    wanted = request.form.outputs
    if wanted and any(
        name in wanted and (classes := wanted[name].classes) and takes_long(array, classes)
        for name, array in zip(names, arrays, strict=True)
    ):
        raise Later(_classified_first(request, names, arrays, parameters))
    return _written(request, names, arrays, parameters, {})


def _classified_first(
    request: InferRequest,
    names: Sequence[str],
    arrays: Sequence["np.ndarray[Any, Any]"],
    parameters: "dict[str, ParameterValue] | None",
) -> Steps[Message]:
    classified: _Arrays = {}
    for name, array in zip(names, arrays, strict=True):
        wanted = request.form.outputs.get(name)
        if wanted is not None and wanted.classes:
            classified[name] = yield from classify_in_slices(
                request.model.signature, name, array, wanted.classes
            )
    try:
        return _written(request, names, arrays, parameters, classified)
    except Later as later:
        found: Message = yield from later.steps
    yield from given_back(classified.values())
    return found


_Arrays = dict[str, "np.ndarray[Any, Any]"]


def _written(
    request: InferRequest,
    names: Sequence[str],
    arrays: Sequence["np.ndarray[Any, Any]"],
    parameters: "dict[str, ParameterValue] | None",
    classified: _Arrays,
) -> Message:
    """``classified`` has the outputs for which that is done already."""
    reply = _reply(request)
    form: GrpcForm = request.form
    raw: Parts = []
    many: _ManyStrings = []
    model: Model = request.model
    for name, array in zip(names, arrays, strict=True):
        wanted = form.outputs.get(name)
        shown: Any = array
        if wanted is not None and wanted.classes:
            shown = classified.get(name)
            if shown is None:
                shown = classify(model.signature, name, array, wanted.classes)
        datatype = _datatype(model, name, shown)
        reply.outputs.add(name=name, datatype=datatype, shape=shown.shape)
        window = None
        if wanted is not None and wanted.region is not None and form.windows is not None:
            window = form.windows[name]
        if datatype == "BYTES" and shown.size > MANY_STRINGS:
            many.append((len(raw), name, shown, window))
            continue
        data: Any = write_strings(shown) if datatype == "BYTES" else np.ascontiguousarray(shown)
        size = len(data) if isinstance(data, bytes) else data.nbytes
        if window is not None:
            fill(window, name, data, size)
            size, data = 0, b""
        raw.append(raw_field(size))
        raw.append(data)
    start = [reply.SerializeToString(), answer_id(request.id) + _parameter_fields(parameters)]
    if many:
        raise Later(_in_slices(start, raw, many))
    parts: Parts = [*start, *raw]
    return parts, _checked(_size(parts))


# BYTES of many elements: where in the raw parts they come, their name, the memory that they go to.
_ManyStrings = list[tuple[int, str, "np.ndarray[Any, Any]", Window | None]]


def _in_slices(start: list[bytes], raw: Parts, many: _ManyStrings) -> Steps[Message]:
    moved = 0
    for place, name, array, window in many:
        pieces = yield from written_in_slices(array)
        size = sum(map(len, pieces))
        if window is not None:
            fill(window, name, b"".join(pieces), size)
            size, pieces = 0, []
        raw[place + moved : place + moved] = [raw_field(size), *pieces]
        moved += 1 + len(pieces)
    parts: Parts = [*start, *raw]
    return parts, _checked(_size(parts))


def _size(parts: Parts) -> int:
    return sum([len(part) if type(part) is bytes else part.nbytes for part in parts])


def streamed(message: Message, *, final: bool) -> Message:
    """One ModelStreamInferResponse. Raises InvalidArgument when it is too large for gRPC."""
    parts, size = message
    parts.append(_FINAL if final else _NOT_FINAL)
    size += len(parts[-1])
    start = streamed_head(size)
    parts.insert(0, start)
    return parts, _checked(size + len(start))


def streamed_later(steps: Steps[Message], *, final: bool) -> Steps[Message]:
    """The same of an answer that is written in slices."""
    return streamed((yield from steps), final=final)


def empty_final(name: str, version: str, request_id: str) -> bytes:
    """What tells a stream that a request is over when its last answer did not."""
    message = pb.ModelStreamInferResponse()
    reply = message.infer_response
    reply.model_name, reply.model_version, reply.id = name, version, request_id
    reply.parameters[FINAL].bool_param = True
    return bytes(message.SerializeToString())


def failure(
    text: str, request_id: str, *, final: bool = True, name: str = "", version: str = ""
) -> bytes:
    """An error in a stream, which stays open. ``name`` and ``version`` are as requested."""
    message = pb.ModelStreamInferResponse(error_message=text)
    reply = message.infer_response
    reply.model_name, reply.model_version, reply.id = name, version, request_id
    reply.parameters[FINAL].bool_param = final
    return bytes(message.SerializeToString())


def _heads(
    request: InferRequest, outputs: Sequence["np.ndarray[Any, Any]"]
) -> tuple[bytes, list[bytes], int] | None:
    """What is the same in every answer of these shapes, and the size of all but its id.

    None when sizes differ (BYTES). Raises InvalidArgument when the answer is too large.
    """
    reply, fields = _reply(request), []
    for name, array in zip(request.plan.outputs, outputs, strict=True):
        if array.dtype.hasobject:
            return None
        datatype = _datatype(request.model, name, array)
        reply.outputs.add(name=name, datatype=datatype, shape=array.shape)
        fields.append(raw_field(array.nbytes))
    start = bytes(reply.SerializeToString())
    # why with room for an id: whether this is too large is asked here only.
    size = _size([start, *fields, *outputs])
    _checked(size + len(answer_id(request.id)))
    return start, fields, size


def _reply(request: InferRequest) -> Any:
    model: Model = request.model
    return pb.ModelInferResponse(model_name=model.name, model_version=str(model.version))


def _datatype(model: Model, name: str, array: "np.ndarray[Any, Any]") -> str:
    """The wire name of an output's type; numpy has none for BF16, whose bits come as integers."""
    if array.dtype.itemsize == 2 and array.dtype.kind == "u":
        for spec in model.signature.outputs:
            if spec.name == name and spec.datatype.name == "BF16":
                return spec.datatype.name
    return "BYTES" if array.dtype.kind in "OSU" else BY_DTYPE[array.dtype].name


def _checked(size: int) -> int:
    if size > _LARGEST:
        raise InvalidArgument(
            f"Response has byte size {size} which exceeds gRPC's byte size limit {_LARGEST}."
        )
    return size


def _parameter_fields(parameters: "dict[str, ParameterValue] | None") -> bytes:
    """Each as a ModelInferResponse that has nothing else, which may follow any other part."""
    if not parameters:
        return b""
    return b"".join(
        [
            # why not all: texts may be long, and 0.0 is -0.0.
            _known_field(name, value) if type(value) in _SHORT else _parameter_field(name, value)
            for name, value in parameters.items()
        ]
    )


def _parameter_field(name: str, value: ParameterValue) -> bytes:
    reply = pb.ModelInferResponse()
    target = reply.parameters[name]
    if isinstance(value, bool):
        target.bool_param = value
    elif isinstance(value, int) and -_INT64 <= value < _INT64:
        target.int64_param = value
    elif isinstance(value, str):
        target.string_param = value
    else:
        target.double_param = float(value)
    return bytes(reply.SerializeToString())


_SHORT = frozenset({bool, int})
_known_field = lru_cache(maxsize=256, typed=True)(_parameter_field)

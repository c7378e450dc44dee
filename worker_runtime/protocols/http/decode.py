"""An HTTP body to an inference request."""

import re
from time import monotonic_ns
from typing import Any

import msgspec

from worker_runtime.core.parameters import NOTHING
from worker_runtime.core.plans import size_mismatch
from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.forms import (
    MAX_FORM_BYTES,
    MAX_FORMS,
    OutputForm,
    device_windows,
    remember,
)
from worker_runtime.protocols.http.forms import JSON, HttpForm, build, check_tail
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.json_values import BadJson
from worker_runtime.protocols.http.limits import LARGE_JSON, check_size
from worker_runtime.protocols.http.schema import (
    Parsed,
    Values,
    decode_large_request,
    decode_request,
)
from worker_runtime.protocols.http.tensors import (
    SLICE_BYTES,
    from_json,
    parsed_in_slices,
    read_in_slices,
    texts_in_slices,
)
from worker_runtime.protocols.slices import Later, Steps
from worker_runtime.protocols.strings import strings_in_slices
from worker_runtime.types.request import InferRequest, Sink
from worker_runtime.types.tensor import (
    MANY_STRINGS,
    DataType,
    check_strings,
    element_count,
    parse_strings,
    string_array,
)

_ID_START = b'{"id":"'
# Engine, model, form, body, length of the JSON in it, id, values of that JSON.
_Source = tuple[Engine, Model, HttpForm, Any, int, str, dict[str, Values] | None]
_PLAIN_ID = re.compile(rb'\{"id":"([\x20\x21\x23-\x5b\x5d-\x7e]*)",')


def decode(
    engine: Engine,
    model: Model,
    head: Head,
    body: Any,
    sink: Sink,
    limit: int,
    x_request_id: bytes = b"",
) -> InferRequest:
    """The request in ``body``. ``limit`` bounds what JSON and raw requests may hold, in bytes.

    The usual request has ``x_request_id`` already, and is watched where there is one: to set both
    later takes several times as long. All others are without.
    Raises Later for BYTES of many elements, InvalidArgument, and NotFound for shared memory that is
    not there.
    """
    arrived = monotonic_ns()
    length = head.json_length
    if length <= 0:
        if length == 0 or not body:
            return _decode_raw(engine, model, body, sink, arrived, limit)
        if length == -1:
            return _decode_json(engine, model, body, sink, arrived, limit)
    if length > len(body) or length < 0:
        raise InvalidArgument(
            f"inference header size should be in range (0, {len(body)}), got: {head.json_text}"
        )
    header = bytes(body[:length])
    request_id = ""
    # Ids differ from call to call: a plain one in front is taken off, so that the rest is known.
    if header.startswith(_ID_START) and (found := _PLAIN_ID.match(header)):
        request_id = found[1].decode("ascii")
        header = b"{" + header[found.end() :]
    form: HttpForm | None = model.forms.get(header)
    if form is None:
        return _first(engine, model, (header, length, body), sink, arrived, limit, request_id)
    if len(body) - length != form.size:
        check_tail(model.name, form.ends, form.size, len(body) - length)
    if not form.sliced:
        source = (engine, model, form, body, length, request_id, None)
        inputs = list[Any]()
        raw = _inputs(source, inputs)
        if raw is None:
            return _request(engine, form, inputs, sink, arrived, request_id)
        raise Later(_in_slices(source, inputs, raw, sink, arrived, request_id))
    parts = [body[length + start : length + stop] for start, stop in form.slices]
    return InferRequest(
        form.plan,
        parts,
        sink,
        request_id,
        arrived,
        form=form,
        watched=engine.tracer.requests if x_request_id else None,
        x_request_id=x_request_id,
    )


def has_large_json(head: Head, body: Any) -> bool:
    """Whether ``decode`` would hold the event loop up for long."""
    length = head.json_length
    return len(body) >= LARGE_JSON and (length == -1 or LARGE_JSON <= length <= len(body))


def decode_in_slices(
    engine: Engine, model: Model, head: Head, body: Any, sink: Sink, limit: int
) -> Steps[InferRequest]:
    """As ``decode``, for a request that ``has_large_json``."""
    arrived = monotonic_ns()
    header = bytes(body if head.json_length == -1 else body[: head.json_length])
    check_size(len(header), limit)
    yield None
    request = yield from decode_large_request(header)
    form, values = build(engine, model, request, len(body) - len(header), limit)
    for item, place in zip(form.plan.inputs, form.slices, strict=True):
        raw = values[item.name] if place == JSON else None
        if isinstance(raw, bytes) and len(raw) > SLICE_BYTES:
            count = element_count(item.wire_shape)
            values[item.name] = yield from values_in_slices(raw, item.datatype, count, item.name)
    source = (engine, model, form, body, len(header), form.id, values)
    inputs = list[Any]()
    return (yield from _in_slices(source, inputs, _inputs(source, inputs), sink, arrived))


def values_in_slices(raw: bytes, datatype: DataType, count: int, name: str) -> Steps[Parsed]:
    """Those of a large tensor, quickly where that goes. ``raw`` is valid JSON."""
    if datatype.item_size:
        parsed = yield from parsed_in_slices(raw, datatype, count)
    else:
        parsed = yield from texts_in_slices(raw)
    return parsed or (yield from read_in_slices(raw, datatype, count, name))


def _first(
    engine: Engine,
    model: Model,
    message: tuple[bytes, int, Any],
    sink: Sink,
    arrived: int,
    limit: int,
    request_id: str,
) -> InferRequest:
    """A request whose header was not seen before. ``message``: header, its length, the body."""
    header, length, body = message
    check_size(length, limit)
    try:
        form, values = _read(engine, model, header, len(body) - length, limit, request_id)
    except BadJson:
        if request_id:
            decode_request(bytes(body[:length]))  # tells the place as the client counts
        raise
    if form.reusable and not form.id and len(header) <= MAX_FORM_BYTES:
        remember(model.forms, header, form, MAX_FORMS)
    source = (engine, model, form, body, length, request_id or form.id, values)
    return _at_once(source, sink, arrived, request_id)


def _at_once(source: _Source, sink: Sink, arrived: int, request_id: str = "") -> InferRequest:
    inputs = list[Any]()
    raw = _inputs(source, inputs)
    if raw is not None:
        raise Later(_in_slices(source, inputs, raw, sink, arrived, request_id))
    return _request(source[0], source[2], inputs, sink, arrived, request_id)


def _in_slices(
    source: _Source, inputs: list[Any], raw: Any, sink: Sink, arrived: int, request_id: str = ""
) -> Steps[InferRequest]:
    """The request, of which ``_inputs`` has found ``inputs`` and left ``raw``."""
    engine, model, form, _, _, called, _ = source
    while raw is not None:
        item = form.plan.inputs[len(inputs)]
        count = element_count(item.wire_shape)
        array = yield from strings_in_slices(raw, count, item.name, model.name, called)
        inputs.append(array)
        raw = _inputs(source, inputs)
    return _request(engine, form, inputs, sink, arrived, request_id)


def _request(
    engine: Engine,
    form: HttpForm,
    inputs: list[Any],
    sink: Sink,
    arrived: int,
    request_id: str = "",
) -> InferRequest:
    request = InferRequest(
        plan=form.plan,
        inputs=inputs,
        sink=sink,
        id=request_id or form.id,
        arrived_ns=arrived,
        form=form,
    )
    parameters = form.parameters
    if parameters is not NOTHING:
        request.priority = parameters.priority
        request.timeout_ns = parameters.timeout_ns
        request.sequence = parameters.sequence
        request.parameters = parameters.custom
    if form.special and form.writes_regions:
        windows = {
            name: engine.shared_memory.window(*output.region)
            for name, output in form.outputs.items()
            if output.region is not None
        }
        request.form = msgspec.structs.replace(form, windows=windows)
        request.device_windows = device_windows(windows)
    return request


def _decode_json(
    engine: Engine, model: Model, body: Any, sink: Sink, arrived: int, limit: int
) -> InferRequest:
    check_size(len(body), limit)
    form, values = _read(engine, model, bytes(body), 0, limit)
    return _at_once((engine, model, form, b"", 0, form.id, values), sink, arrived)


def _read(
    engine: Engine, model: Model, header: bytes, tail: int, limit: int, request_id: str = ""
) -> tuple[HttpForm, dict[str, Values]]:
    """The form of a header; one whose id was taken off before has none."""
    request = decode_request(header)
    request.id = request.id or request_id
    form, values = build(engine, model, request, tail, limit)
    if request_id:
        form.id = ""
    return form, values


def _inputs(source: _Source, inputs: list[Any]) -> Any:
    """Add the inputs that are not in ``inputs`` yet, wherever each of them comes from.

    Stops at BYTES of many elements, and returns their wire form; None at the end.
    """
    engine, model, form, body, length, request_id, values = source
    items, slices = form.plan.inputs, form.slices
    for index in range(len(inputs), len(items)):
        item, (start, stop) = items[index], slices[index]
        count = element_count(item.wire_shape)
        if start == -1:
            array = from_json((values or {})[item.name], item.datatype, count, item.name)
            if item.byte_size < 0:
                check_strings(len(array), count, item.name, model.name, request_id)
            inputs.append(array)
            continue
        part = (
            body[length + start : length + stop]
            if start >= 0
            else engine.shared_memory.view(*form.regions[index], on_device=model.on_device)
        )
        if item.byte_size < 0:
            if count > MANY_STRINGS:
                return part
            part = parse_strings(part, count, item.name, model.name, request_id)
        inputs.append(part)
    return None


def _decode_raw(
    engine: Engine, model: Model, body: Any, sink: Sink, arrived: int, limit: int
) -> InferRequest:
    """A raw binary request: the body is the data of the model's only input."""
    check_size(len(body), limit, "Request raw input size")
    specs = model.signature.inputs
    if len(specs) != 1:
        raise _bad_raw(
            "Raw request must only have 1 input (found 1) to be deduced but got "
            f"{len(specs)} inputs in '{model.name}' model configuration"
        )
    spec = specs[0]
    dims, inputs = list(spec.dims), [body]
    item_size = spec.datatype.item_size
    fixed = element_count(tuple(d for d in dims if d != -1))
    if not item_size:
        if fixed != 1 or -1 in dims:
            raise _bad_raw(
                f"For BYTE datatype raw input '{spec.name}', the model must have input shape [1]"
            )
        inputs = [string_array([bytes(body)])]
    elif dims.count(-1) > 1:
        raise _bad_raw(
            f"The shape of the raw input '{spec.name}' can not be deduced because there are more "
            "than one variable-sized dimension"
        )
    elif -1 in dims:
        dims[dims.index(-1)] = len(body) // (fixed * item_size) if fixed else 0
    shape = (1, *dims) if model.signature.max_batch_size > 0 else tuple(dims)
    if item_size and element_count(shape) * item_size != len(body):
        expected = element_count(shape) * item_size
        raise size_mismatch("raw_input", model.name, expected, len(body)).for_request("")
    plan = engine.plan(model, "", ((spec.name, spec.datatype.name, shape),), None)
    form = HttpForm(plan, dict.fromkeys(plan.outputs, OutputForm()), heads={})
    return _request(engine, form, inputs, sink, arrived)


def _bad_raw(what: str) -> RuntimeFault:
    return InvalidArgument(what).for_request("")

"""An HTTP body to an inference request.

What does not change from call to call (the JSON part of a request whose tensors are all binary) is
checked once and kept as a Form; the sizes of the body are checked every time.
"""

import re
from time import monotonic_ns
from typing import Any

import msgspec

from worker_runtime.core.engine import Engine
from worker_runtime.core.model import ModelVersion
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.schema import InputJson, OutputJson, RequestJson, decode_request
from worker_runtime.protocols.http.tensors import from_json
from worker_runtime.types.request import InferRequest, Plan, Sink
from worker_runtime.types.strings import parse_strings, string_array
from worker_runtime.types.tensor import BY_NAME, element_count

_MAX_FORMS = 512
_MAX_FORM_BYTES = 4096
_RESERVED = "triton_"
_ID_START = b'{"id":"'
_PLAIN_ID = re.compile(rb'\{"id":"([\x20\x21\x23-\x5b\x5d-\x7e]*)",')


class OutputForm(msgspec.Struct, frozen=True):
    binary: bool
    classes: int = 0


class Form(msgspec.Struct):
    """A checked request header. ``slices`` are ranges of the binary part, in configuration order.

    ``size`` is the length of the binary part.

    ``heads`` caches answer heads by output shapes; None when the answer is not all binary.
    """

    plan: Plan
    slices: tuple[tuple[int, int], ...]
    size: int
    outputs: tuple[OutputForm, ...]
    strings: bool
    id: str = ""
    priority: int = 0
    timeout_ns: int = 0
    heads: dict[Any, tuple[bytes, bytes, int]] | None = None


def decode(engine: Engine, model: ModelVersion, head: Head, body: Any, sink: Sink) -> InferRequest:
    """The request in ``body``. Raises InvalidArgument."""
    arrived = monotonic_ns()
    length = head.json_length
    if length < 0:
        return _decode_json(engine, model, body, sink, arrived)
    if length == 0:
        return _decode_raw(engine, model, body, sink, arrived)
    if length > len(body):
        raise InvalidArgument(
            f"inference header size should be in range (0, {len(body)}], got: {length}"
        )
    header = bytes(body[:length])
    request_id = ""
    # Ids differ from call to call: a plain one in front is taken off, so that the rest is known.
    if header.startswith(_ID_START) and (found := _PLAIN_ID.match(header)):
        request_id = found[1].decode("ascii")
        header = b"{" + header[found.end() :]
    form: Form | None = model.forms.get(header)
    if form is None:
        form, inputs = _read_header(engine, model, header, body, length, request_id)
        if inputs is not None:
            return _request(form, inputs, sink, arrived, request_id)
        if len(header) <= _MAX_FORM_BYTES and not form.id:
            if len(model.forms) >= _MAX_FORMS:
                model.forms.clear()
            model.forms[header] = form
    if len(body) - length != form.size:
        raise InvalidArgument(
            f"unexpected size of the binary data: expected {form.size} bytes behind the "
            f"JSON part, got {len(body) - length}"
        )
    parts = [body[length + start : length + stop] for start, stop in form.slices]
    if form.strings:
        _parse_strings(form.plan, parts, model.name)
    return _request(form, parts, sink, arrived, request_id)


def _request(
    form: Form, inputs: list[Any], sink: Sink, arrived: int, request_id: str = ""
) -> InferRequest:
    return InferRequest(
        plan=form.plan,
        inputs=inputs,
        sink=sink,
        id=request_id or form.id,
        arrived_ns=arrived,
        form=form,
        priority=form.priority,
        timeout_ns=form.timeout_ns,
    )


def _parse_strings(plan: Plan, parts: list[Any], model: str) -> None:
    for i, item in enumerate(plan.inputs):
        if item.byte_size < 0:
            count = element_count(item.wire_shape)
            parts[i] = parse_strings(parts[i], count, item.name, model)


def _decode_json(
    engine: Engine, model: ModelVersion, body: Any, sink: Sink, arrived: int
) -> InferRequest:
    form, inputs = _read_header(engine, model, bytes(body), body, len(body))
    if inputs is None:
        if form.size:
            raise InvalidArgument(
                "the request has binary inputs, but no 'Inference-Header-Content-Length' header"
            )
        inputs = [b"" for _ in form.slices]
    return _request(form, inputs, sink, arrived)


def _read_header(
    engine: Engine,
    model: ModelVersion,
    header: bytes,
    body: Any,
    length: int,
    request_id: str = "",
) -> tuple[Form, list[Any] | None]:
    """The form, and the inputs when some of them are JSON (such a form is good for once only)."""
    request = decode_request(header)
    outputs = None if request.outputs is None else tuple(o.name for o in request.outputs)
    forms = tuple((i.name, i.datatype, tuple(i.shape)) for i in request.inputs)
    request.id = request.id or request_id
    plan = engine.plan(model, request.id, forms, outputs or None)
    scheduling = _scheduling(request.parameters)
    slices, end = _slices(request, plan, model)
    form = Form(
        plan=plan,
        slices=slices,
        size=end,
        outputs=_output_forms(request, plan),
        strings=any(item.byte_size < 0 for item in plan.inputs),
        id="" if request_id else request.id,
        priority=scheduling["priority"],
        timeout_ns=scheduling["timeout_ns"],
    )
    plain = all(output.binary and not output.classes for output in form.outputs)
    form.heads = {} if plain else None
    if all(start >= 0 for start, _ in slices):
        return form, None
    if len(body) - length != end:
        raise InvalidArgument(
            f"unexpected additional input data for model '{model.name}': "
            f"{len(body) - length - end} bytes"
        )
    return form, _mixed_inputs(request, plan, slices, body[length:], model)


def _slices(
    request: RequestJson, plan: Plan, model: ModelVersion
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Ranges behind the JSON part, in configuration order ((-1, -1): JSON), and their total."""
    start = 0
    found: dict[str, tuple[int, int]] = {}
    by_name = {item.name: item for item in plan.inputs}
    for item in request.inputs:
        size = _binary_size(item)
        if size < 0:
            found[item.name] = (-1, -1)
            continue
        expected = by_name[item.name].byte_size
        if expected >= 0 and size != expected:
            raise InvalidArgument(
                f"input byte size mismatch for input '{item.name}' for model '{model.name}'. "
                f"Expected {expected}, got {size}"
            ).for_request(request.id)
        found[item.name] = (start, start + size)
        start += size
    return tuple(found[item.name] for item in plan.inputs), start


def _binary_size(item: InputJson) -> int:
    """The binary size of an input, -1 when its data is JSON. Raises for both or neither."""
    parameters = item.parameters or {}
    if "shared_memory_region" in parameters:
        raise InvalidArgument(f"input '{item.name}': shared memory is not available here")
    size = parameters.get("binary_data_size")
    if size is None:
        if not bytes(item.data):
            raise InvalidArgument(
                f"must specify valid 'Inference-Header-Content-Length' in request header and "
                f"'binary_data_size' or provide 'data' in the input '{item.name}'"
            )
        return -1
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise InvalidArgument(f"'binary_data_size' of input '{item.name}' must be a whole number")
    if bytes(item.data):
        raise InvalidArgument(f"input '{item.name}' has both 'data' and 'binary_data_size'")
    return size


def _mixed_inputs(
    request: RequestJson,
    plan: Plan,
    slices: tuple[tuple[int, int], ...],
    body: Any,
    model: ModelVersion,
) -> list[Any]:
    raw = {item.name: item.data for item in request.inputs}
    inputs: list[Any] = []
    for item, (start, stop) in zip(plan.inputs, slices, strict=True):
        count = element_count(item.wire_shape)
        if start < 0:
            inputs.append(from_json(bytes(raw[item.name]), item.datatype, count, item.name))
        elif item.byte_size < 0:
            inputs.append(parse_strings(body[start:stop], count, item.name, model.name))
        else:
            inputs.append(body[start:stop])
    return inputs


def _output_forms(request: RequestJson, plan: Plan) -> tuple[OutputForm, ...]:
    """How to write each output of the plan: listed ones say it, others follow the request."""
    parameters = request.parameters or {}
    if not request.outputs:
        unlisted = OutputForm(parameters.get("binary_data_output") is True)
        return tuple(unlisted for _ in plan.outputs)
    listed = {output.name: _output_form(output) for output in request.outputs}
    return tuple(listed[name] for name in plan.outputs)


def _output_form(output: OutputJson) -> OutputForm:
    parameters = output.parameters or {}
    if "shared_memory_region" in parameters:
        raise InvalidArgument(f"output '{output.name}': shared memory is not available here")
    classes = parameters.get("classification", 0)
    if isinstance(classes, bool) or not isinstance(classes, int) or classes < 0:
        raise InvalidArgument(f"'classification' of output '{output.name}' must be a whole number")
    return OutputForm(parameters.get("binary_data") is True, classes)


def _scheduling(parameters: dict[str, Any] | None) -> dict[str, int]:
    found = {"priority": 0, "timeout_ns": 0}
    for key, value in (parameters or {}).items():
        if key.startswith(_RESERVED):
            raise InvalidArgument(
                f"parameter keys starting with '{_RESERVED}' are reserved for Triton usage: '{key}'"
            )
        if key in ("priority", "timeout"):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidArgument(f"parameter '{key}' must be a whole number")
            if key == "priority":
                found["priority"] = value
            else:
                found["timeout_ns"] = value * 1000
        elif not isinstance(value, str | int | float | bool):
            raise InvalidArgument(f"parameter '{key}' has an unsupported type")
    return found


def _decode_raw(
    engine: Engine, model: ModelVersion, body: Any, sink: Sink, arrived: int
) -> InferRequest:
    """A raw binary request: the body is the data of the model's only input."""
    specs = model.signature.inputs
    if len(specs) != 1:
        raise InvalidArgument(
            "Raw request must only have 1 input (found "
            f"{len(specs)}) to be deduced but got {len(specs)} inputs in '{model.name}' model "
            "configuration"
        )
    spec = specs[0]
    dims, inputs = list(spec.dims), [body]
    if dims.count(-1) > 1:
        raise InvalidArgument(
            "The shape of the raw input can not be deduced because there are more than one "
            "variable-sized dimension"
        )
    fixed = element_count(tuple(d for d in dims if d != -1))
    item_size = BY_NAME[spec.datatype.name].item_size
    if not item_size:
        if fixed != 1:
            raise InvalidArgument(
                "For BYTES datatype raw input, the model must have input shape [1]"
            )
        inputs = [string_array([bytes(body)])]
        dims = [1 if d == -1 else d for d in dims]
    elif -1 in dims:
        if len(body) % (fixed * item_size):
            raise InvalidArgument(
                f"the raw input has {len(body)} bytes: not a multiple of {fixed * item_size}"
            )
        dims[dims.index(-1)] = len(body) // (fixed * item_size)
    elif len(body) != fixed * item_size:
        raise InvalidArgument(
            f"input byte size mismatch for input '{spec.name}' for model '{model.name}'. Expected "
            f"{fixed * item_size}, got {len(body)}"
        )
    shape = (1, *dims) if model.signature.max_batch_size > 0 else tuple(dims)
    plan = engine.plan(model, "", ((spec.name, spec.datatype.name, shape),), None)
    outputs = tuple(OutputForm(binary=True) for _ in plan.outputs)
    form = Form(plan, (), len(body), outputs, strings=False, heads={})
    return _request(form, inputs, sink, arrived)

"""ModelInferRequest to an inference request, in Triton's order of checks.

What does not change from call to call is checked once and kept as a Form with the model version;
the sizes of the tensors are checked every time. Forms are found by the bytes of a request's head,
so a known form costs no protobuf at all.
"""

import re
from collections.abc import MutableSequence, Sequence
from time import monotonic_ns
from typing import Any

import msgspec
import numpy as np
from google.protobuf.message import DecodeError

from worker_runtime.core.parameters import HeaderForward, from_typed, joined
from worker_runtime.core.plans import check_once, size_mismatch
from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.forms import (
    MAX_FORM_BYTES,
    MAX_FORMS,
    Form,
    Region,
    device_windows,
    remember,
)
from worker_runtime.protocols.grpc.contents import gather, known_type, output_forms, region_of
from worker_runtime.protocols.grpc.large_requests import Typed, outlined
from worker_runtime.protocols.grpc.transport import CallHead, Message
from worker_runtime.protocols.grpc.wire import cut
from worker_runtime.protocols.slices import Later, Steps
from worker_runtime.protocols.strings import array_in_slices, strings_in_slices
from worker_runtime.types.request import InferRequest, PlannedInput, Sink
from worker_runtime.types.tensor import (
    MANY_STRINGS,
    check_strings,
    element_count,
    parse_strings,
)
from worker_runtime.types.triton_messages import service_pb2 as pb

_LARGE = 4 * 1024  # bytes of what protobuf reads in one piece, whatever is in them
_NEVER = 2**31  # raw tensors: more than a message has
_RAW = (bytes, memoryview)
_TYPED = (np.ndarray, MutableSequence)  # BYTES from typed fields
_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_INT64 = 1 << 63
_MOST_DIGITS = 100  # more are no version, whatever they say


class GrpcForm(Form):
    """``count`` is how many raw tensors belong to it, where all its tensors are raw.

    ``outputs`` has those that are not written as they are. ``regions``: where each input is, None
    for a raw one; empty where no tensor is in shared memory.
    """

    count: int = 0
    regions: tuple[Region | None, ...] = ()


class Incoming(msgspec.Struct):
    """A request before its model is known. ``head`` is empty when it cannot be remembered."""

    name: str
    version: str
    id: str
    head: bytes
    raw: Sequence[Any]
    message: Any = None  # without the raw tensors when there is a head; None: not parsed yet
    typed: "list[Typed | None] | None" = None  # what is not in the message, for each input


def incoming(data: Message) -> Incoming:
    """Raises InvalidArgument when it is no ModelInferRequest, Later when it is a large one."""
    parts = cut(data)
    if parts is not None:
        return Incoming(parts.name, parts.version, parts.id, parts.head, parts.raw)
    if len(data) > _LARGE:
        raise Later(_large(data))
    message = parsed(pb.ModelInferRequest, data)
    name, version = message.model_name, message.model_version
    return Incoming(name, version, message.id, b"", message.raw_input_contents, message)


def _large(data: Message) -> Steps[Incoming]:
    outline = yield from outlined(data)
    message = parsed(pb.ModelInferRequest, outline.head)
    name, version = message.model_name, message.model_version
    yield None
    return Incoming(name, version, message.id, b"", outline.raw, message, outline.typed)


def parsed(kind: Any, data: Message) -> Any:
    """A message of ``kind``. Raises InvalidArgument."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise InvalidArgument(f"failed to parse the {kind.DESCRIPTOR.name}: {error}") from error


class Decoder:
    """Stands between messages and the engine; ``forward_pattern`` "" forwards no metadata."""

    def __init__(self, engine: Engine, forward_pattern: str = "") -> None:
        self._engine = engine
        self._forward = HeaderForward(forward_pattern) if forward_pattern else None

    def model(self, request: Incoming) -> Model:
        """The model version that the request is for. Raises a RuntimeFault."""
        version = version_number(request.version) if request.version else ""
        found: Model = self._engine.resolve(request.name, version)
        return found

    def decode(
        self,
        model: Model,
        request: Incoming,
        sink: Sink,
        head: CallHead,
    ) -> InferRequest:
        """A request to be submitted at once. Raises a RuntimeFault.

        ``head`` is of the call that brought it.
        """
        arrived = monotonic_ns()
        form: GrpcForm | None = model.wire_forms.get(request.head) if request.head else None
        if form is not None and len(request.raw) >= form.count:
            buffers: list[Any] = list(request.raw[: form.count])
            parameters, sequence = form.parameters, None
            custom = parameters.custom
            if self._forward is not None:
                custom = joined(custom, self._forward.parameters(head.metadata))
        else:
            if form is not None and form.regions:
                form, buffers, custom = self._found(form, model, request, head)
            else:
                form, buffers, custom = self._read(model, request, head)
            parameters = form.parameters
            sequence = parameters.sequence
        plan = form.plan
        if plan.order is not None:
            buffers = [buffers[i] for i in plan.order]
        many = -1
        for i, item in enumerate(plan.inputs):
            if item.byte_size != len(buffers[i]):
                sized = _sized(item, buffers[i], model, request.id)
                if sized is None:
                    many = i
                    break
                buffers[i] = sized
        tracer = self._engine.tracer
        x_request_id = head.request_id if tracer.requests.active else b""
        found = InferRequest(
            plan=plan,
            inputs=buffers,
            sink=sink,
            id=request.id,
            arrived_ns=arrived,
            form=form,
            priority=parameters.priority,
            timeout_ns=parameters.timeout_ns,
            sequence=sequence,
            parameters=custom,
            watched=tracer.requests if x_request_id else None,
            x_request_id=x_request_id,
        )
        if form.windows:
            found.device_windows = device_windows(form.windows)
        if many >= 0:
            raise Later(self._in_slices(found, model, many, head))
        if tracer.active:
            self._trace(found, model, head)
        return found

    def _in_slices(
        self, found: InferRequest, model: Model, first: int, head: CallHead
    ) -> Steps[InferRequest]:
        """The same request; its inputs from ``first`` on are not looked at yet."""
        buffers = found.inputs
        for i, item in enumerate(found.plan.inputs[first:], first):
            if item.byte_size != len(buffers[i]):
                sized = _sized(item, buffers[i], model, found.id)
                if sized is None:
                    sized = yield from _many(item, buffers[i], model, found.id)
                buffers[i] = sized
        if self._engine.tracer.active:
            self._trace(found, model, head)
        return found

    def _trace(self, found: InferRequest, model: Model, head: CallHead) -> None:
        received = found.arrived_ns, monotonic_ns()
        self._engine.tracer.start(found, model, "GRPC", dict(head.metadata), received)

    def _found(
        self, form: GrpcForm, model: Model, request: Incoming, head: CallHead
    ) -> tuple[GrpcForm, list[Any], Any]:
        """The same as ``_read``, of a known form with tensors in shared memory."""
        memory, raw = self._engine.shared_memory, iter(request.raw)
        buffers = [
            next(raw, None) if region is None else memory.view(*region, on_device=model.on_device)
            for region in form.regions
        ]
        if any(buffer is None for buffer in buffers):
            return self._read(model, request, head)  # which tells what is missing
        windows = {
            name: memory.window(*output.region)
            for name, output in form.outputs.items()
            if output.region is not None
        }
        custom = form.parameters.custom
        if self._forward is not None:
            custom = joined(custom, self._forward.parameters(head.metadata))
        return msgspec.structs.replace(form, windows=windows), buffers, custom

    def _read(
        self, model: Model, request: Incoming, head: CallHead
    ) -> tuple[GrpcForm, list[Any], Any]:
        """A form that was not known, the buffers and the custom parameters."""
        message = request.message
        if message is None:
            message = parsed(pb.ModelInferRequest, request.head)
        parameters = from_typed(_parameters(message.parameters))
        names = [item.name for item in message.inputs]
        wanted = [output.name for output in message.outputs]
        try:
            check_once("input", names)
            check_once("output", wanted)
        except RuntimeFault as error:
            raise error.for_request(request.id) from None
        custom = parameters.custom
        if self._forward is not None:
            custom = joined(custom, self._forward.parameters(head.metadata))
        buffers = gather(
            message,
            request.raw,
            self._engine.shared_memory,
            on_device=model.on_device,
            typed=request.typed,
        )
        outputs, windows = output_forms(message.outputs, self._engine.shared_memory)
        forms = tuple(
            [(item.name, known_type(item.datatype), tuple(item.shape)) for item in message.inputs]
        )
        plan = self._engine.plan(model, request.id, forms, tuple(wanted) or None)
        form = GrpcForm(
            plan=plan,
            outputs=outputs,
            parameters=parameters,
            heads=None if outputs else {},
            windows=windows,
            count=len(names),
        )
        if _lasting(request, form, message):
            remember(model.wire_forms, request.head, _kept(form, message), MAX_FORMS)
        return form, buffers, custom


def _lasting(request: Incoming, form: GrpcForm, message: Any) -> bool:
    """Another request with this head would be read the same way."""
    return (
        0 < len(request.head) <= MAX_FORM_BYTES
        and form.parameters.sequence is None
        and request.typed is None
        and not any(item.HasField("contents") for item in message.inputs)
    )


def _kept(form: GrpcForm, message: Any) -> GrpcForm:
    """The form without what belongs to its first request only."""
    regions = [region_of(item.name, item.parameters) for item in message.inputs]
    if not form.windows and not any(regions):
        return form
    return msgspec.structs.replace(form, windows=None, count=_NEVER, regions=tuple(regions))


def _parameters(parameters: Any) -> list[tuple[str, str, Any]]:
    """Each with the name of the field that is set, "" when none is."""
    found = []
    for key, value in parameters.items():
        kind = value.WhichOneof("parameter_choice") or ""
        found.append((key, kind, getattr(value, kind) if kind else None))
    return found


def _sized(item: PlannedInput, buffer: Any, model: Model, request_id: str) -> Any:
    """BYTES as an array of their elements, None where there are many.

    Raises InvalidArgument, and for everything else.
    """
    if item.byte_size >= 0:
        size = buffer.nbytes if isinstance(buffer, np.ndarray) else len(buffer)
        raise size_mismatch(item.name, model.name, item.byte_size, size).for_request(request_id)
    count = element_count(item.wire_shape)
    if not isinstance(buffer, _RAW) and isinstance(buffer, _TYPED):
        check_strings(len(buffer), count, item.name, model.name, request_id)
        return buffer if isinstance(buffer, np.ndarray) else None
    if count > MANY_STRINGS:
        return None
    return parse_strings(buffer, count, item.name, model.name, request_id)


def _many(
    item: PlannedInput, buffer: Any, model: Model, request_id: str
) -> Steps["np.ndarray[Any, Any]"]:
    if isinstance(buffer, MutableSequence):
        return (yield from array_in_slices(buffer))
    count = element_count(item.wire_shape)
    return (yield from strings_in_slices(buffer, count, item.name, model.name, request_id))


def version_number(text: str) -> str:
    """The number that ``text`` begins with, in its plain form. Raises InvalidArgument."""
    found = _NUMBER.match(text)
    number = int(found[1]) if found and len(found[1]) <= _MOST_DIGITS else _INT64
    if found is None or not -_INT64 <= number < _INT64:
        raise InvalidArgument(
            f"failed to get model version from specified version string '{text}' (details: stol), "
            "version should be an integral value > 0"
        )
    if number < 0:
        raise InvalidArgument(
            f"invalid model version specified '{text}' , version should be an integral value > 0"
        )
    return str(number)

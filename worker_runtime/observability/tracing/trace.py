"""The trace of one sampled request, and of those that it led to, down to the text of the file."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from time import monotonic_ns
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field

from worker_runtime.observability.tracing.config import Level
from worker_runtime.observability.tracing.setting import TraceSetting
from worker_runtime.types.device_memory import DeviceBuffer
from worker_runtime.types.request import Arrays, InferRequest, Response, Sink
from worker_runtime.types.tensor import DataType

_COMPUTE = ("COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END")


class Captured(NamedTuple):
    """``data`` is a list of values separated by commas; texts stand in quotes."""

    activity: str
    name: str
    data: str
    shape: tuple[int, ...]
    datatype: str


def capture_inputs(request: InferRequest) -> Iterator[Captured]:
    """The request's inputs as they are queued."""
    for planned, buffer in zip(request.plan.inputs, request.inputs, strict=False):
        data = _values(_array(buffer, planned.datatype), planned.datatype)
        shape, datatype = planned.shape, planned.datatype.name
        yield Captured("TENSOR_QUEUE_INPUT", planned.name, data, shape, datatype)


def fed_to_model(captured: list[Captured], *, executed: bool) -> list[Captured]:
    """The same with what the model was given; nothing more unless it was ``executed``."""
    if not executed:
        return captured
    queued = [item for item in captured if item.activity == "TENSOR_QUEUE_INPUT"]
    fed = [item._replace(activity="TENSOR_BACKEND_INPUT") for item in queued]
    return [*queued, *fed, *captured[len(queued) :]]


def capture_outputs(names: tuple[str, ...], arrays: Arrays, model: Any) -> Iterator[Captured]:
    types = {spec.name: spec.datatype for spec in model.signature.outputs}
    for name, array in zip(names, arrays, strict=False):
        datatype = types.get(name)
        if datatype is not None:
            data = _values(array, datatype)
            yield Captured("TENSOR_BACKEND_OUTPUT", name, data, array.shape, datatype.name)


def _array(buffer: Any, datatype: DataType) -> np.ndarray[Any, Any]:
    if isinstance(buffer, np.ndarray):
        return buffer
    if isinstance(buffer, DeviceBuffer):
        buffer = bytes(buffer)
    return np.frombuffer(buffer, datatype.dtype)


def _values(array: np.ndarray[Any, Any], datatype: DataType) -> str:
    flat = array.reshape(-1)
    match datatype.name:
        case "FP16" | "BF16":
            return ""  # as in Triton: there is no text form of them
        case "BYTES":
            return ",".join(f'"{_string(item)}"' for item in flat)
        case "BOOL":
            return ",".join("1" if item else "0" for item in flat)
        case "FP32" | "FP64":
            return ",".join(f"{item:g}" for item in flat.tolist())
        case _:
            return ",".join(map(str, flat.tolist()))


def _string(item: Any) -> str:
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)


class Group(Struct):
    """A front end's request with everything below it: written when the last member is complete.

    ``trace_id`` is OpenTelemetry's, 0 where traces do not become spans.
    """

    setting: TraceSetting
    next_id: Callable[[], int]
    complete: Callable[["Group"], None]
    headers: Mapping[str, str]
    trace_id: int = 0
    members: list["Trace"] = field(default_factory=list)
    open: int = 0


class Trace:
    """What one request went through. Times are monotonic nanoseconds.

    ``frontend`` holds the stamps of the protocol (and custom ones), ``core`` those of the model,
    ``tensors`` are captured only where the level asks for them. ``span_id`` is that of the
    model's span, chosen before there is one: the model may pass it on.
    """

    __slots__ = (
        "access_entry",
        "core",
        "frontend",
        "group",
        "id",
        "model",
        "parent",
        "prefix",
        "request_id",
        "span_id",
        "tensors",
        "version",
    )

    def __init__(self, group: Group, request: InferRequest, parent: int, prefix: str = "") -> None:
        self.group = group
        self.id = group.next_id()
        self.parent = parent
        self.span_id = secrets.randbits(64) or 1 if group.trace_id else 0
        self.prefix = prefix
        self.access_entry: Any = None  # of the access log, when there is one
        self.model = str(request.model.name)
        self.version = int(request.model.version)
        self.request_id = request.id
        self.frontend: list[tuple[str, int]] = []
        self.core: list[tuple[str, int]] = [("REQUEST_START", monotonic_ns())]
        # why now: what lies in shared memory may be another tensor when the answer is there.
        traced = Level.TENSORS in group.setting.levels
        self.tensors: list[Captured] = list(capture_inputs(request)) if traced else []
        group.members.append(self)
        group.open += 1
        request.trace = self
        request.sink = TracedSink(request.sink, self)

    def stamp(self, name: str, ns: int = 0) -> None:
        """A custom activity, now or at ``ns``."""
        self.frontend.append((name, ns or monotonic_ns()))

    @property
    def context(self) -> str:
        """What a program below sends along so that its spans stand under the model's, as JSON.

        "" where traces do not become spans.
        """
        if not self.group.trace_id:
            return ""
        context = {"traceparent": f"00-{self.group.trace_id:032x}-{self.span_id:016x}-01"}
        state = self.group.headers.get("tracestate")
        if state:
            context["tracestate"] = state
        return json.dumps(context)

    def follow(self, request: InferRequest) -> None:
        """Trace a request that this one leads to (a step of an ensemble, a call of a model)."""
        # why: a model may call when its own request has been answered, and the trace written.
        if self.group.open:
            Trace(self.group, request, self.id)

    def answered(self, request: InferRequest, names: tuple[str, ...], arrays: Arrays) -> None:
        """An answer is there and about to be written."""
        if self.prefix:
            now = monotonic_ns()
            self.frontend.append(("INFER_RESPONSE_COMPLETE", now))
            self.frontend.append((f"{self.prefix}_SEND_START", now))
        if Level.TENSORS in self.group.setting.levels:
            self.tensors.extend(capture_outputs(names, arrays, request.model))

    def sent(self) -> None:
        """It has been written."""
        if self.prefix:
            self.frontend.append((f"{self.prefix}_SEND_END", monotonic_ns()))

    def ended_empty(self) -> None:
        """The end came without an answer of its own."""
        if self.prefix:
            self.frontend.append(("INFER_RESPONSE_COMPLETE", monotonic_ns()))

    def abandon(self, request: InferRequest, error: Exception | None = None) -> None:
        """The request was refused before anybody took it: its sink will not be called."""
        if self.access_entry is not None:
            self.access_entry.abandon(request, error)
        self.answered(request, (), [])
        self.sent()
        self.finish(request)

    def finish(self, request: InferRequest) -> None:
        """The request has ended; with the last member the trace is complete."""
        if request.queued_ns:
            self.core.append(("QUEUE_START", request.queued_ns))
        executed = request.timings is not None and getattr(request.model, "executes", True)
        if executed:
            self.core.extend(zip(_COMPUTE, request.timings, strict=True))
        self.core.append(("REQUEST_END", monotonic_ns()))
        if Level.TENSORS in self.group.setting.levels:
            self.tensors = fed_to_model(self.tensors, executed=executed)
        group = self.group
        group.open -= 1
        if not group.open:
            group.complete(group)


class TracedSink:
    """Stands before a sampled request's sink, so that nobody else need know about traces."""

    __slots__ = ("_sink", "_trace")

    def __init__(self, sink: Sink, trace: Trace) -> None:
        self._sink = sink
        self._trace = trace

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self._trace.answered(request, request.plan.outputs, outputs)
        try:
            self._sink.deliver(request, outputs)
        finally:
            self._trace.sent()
            self._trace.finish(request)

    def fail(self, request: InferRequest, error: Exception) -> None:
        self._trace.answered(request, (), [])
        try:
            self._sink.fail(request, error)
        finally:
            self._trace.sent()
            self._trace.finish(request)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if response is not None:
            self._trace.answered(request, response.names, response.arrays)
        else:
            self._trace.ended_empty()
        try:
            self._sink.respond(request, response, final=final)
        finally:
            if response is not None:
                self._trace.sent()
            if final:
                self._trace.finish(request)


def elements(group: Group) -> list[str]:
    """A request's trace with its children as elements of Triton's trace files: JSON objects."""
    levels = group.setting.levels
    return [text for trace in group.members for text in _trace(trace, levels)]


def _trace(trace: Trace, levels: frozenset[Level]) -> Iterator[str]:
    stamps = Level.TIMESTAMPS in levels
    head: dict[str, object] = {
        "id": trace.id,
        "model_name": trace.model,
        "model_version": trace.version,
    }
    if trace.request_id:
        head["request_id"] = trace.request_id
    if trace.parent:
        head["parent_id"] = trace.parent
    # why in three parts: what the front end read comes before the request, as in Triton.
    begun = trace.core[0][1]
    if stamps:
        yield from (_stamp(trace, name, ns) for name, ns in trace.frontend if ns < begun)
    yield _text(head)
    if stamps:
        later = [*trace.core, *(stamp for stamp in trace.frontend if stamp[1] >= begun)]
        yield from (_stamp(trace, name, ns) for name, ns in sorted(later, key=lambda s: s[1]))
    for tensor in trace.tensors:
        shown = {
            "name": tensor.name,
            "data": tensor.data,
            "shape": ",".join(map(str, tensor.shape)),
            "dtype": tensor.datatype,
        }
        yield _text({"id": trace.id, "activity": tensor.activity, "tensor": shown})


def _stamp(trace: Trace, name: str, ns: int) -> str:
    return _text({"id": trace.id, "timestamps": [{"name": name, "ns": ns}]})


def _text(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

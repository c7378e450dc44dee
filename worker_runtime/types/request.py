"""One inference on its way through the runtime. Built per request: kept small and cheap."""

from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np

from worker_runtime.errors import RuntimeFault
from worker_runtime.types.device_memory import DeviceWindow
from worker_runtime.types.tensor import DataType

# Raw bytes in the tensor's wire layout, or (for BYTES) an object array of the wire shape.
Buffer: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, Any]
Arrays: TypeAlias = list[np.ndarray[Any, Any]]
ParameterValue: TypeAlias = bool | int | float | str


class PlannedInput(msgspec.Struct, frozen=True):
    """``shape`` is what the model sees (after reshape), with the batch axis where it batches.

    ``byte_size`` is the exact size of the raw tensor, -1 for BYTES.
    """

    name: str
    datatype: DataType
    wire_shape: tuple[int, ...]
    shape: tuple[int, ...]
    byte_size: int


class Plan(msgspec.Struct, frozen=True):
    """A validated request form; requests of the same form share one plan.

    ``order`` brings buffers from request order into configuration order (None: already is);
    ``batch_key`` is interned per model: two requests may share a batch when it is the same object.
    ``outputs`` are the requested output names, in configuration order.
    """

    inputs: tuple[PlannedInput, ...]
    order: tuple[int, ...] | None
    rows: int
    batch_key: tuple[Any, ...]
    outputs: tuple[str, ...]


class SequencePart(msgspec.Struct, frozen=True):
    """Which sequence a request belongs to, and where in it. ``id`` is never 0 or ""."""

    id: int | str
    start: bool = False
    end: bool = False


class Response(msgspec.Struct):
    """One answer that says itself what is in it: several per request, fewer outputs, parameters.

    ``arrays`` belong to ``names``, in the order in which the model gave them; both are empty when
    ``error`` is set. ``types`` may name their data types, which numpy cannot always tell.
    """

    names: tuple[str, ...] = ()
    arrays: Arrays = []
    parameters: dict[str, ParameterValue] | None = None
    error: RuntimeFault | None = None
    types: tuple[str, ...] | None = None


class Sink(Protocol):
    """Where answers go; called in the event loop. ``deliver`` and ``fail`` end the request.

    The usual model calls ``deliver`` once. One that answers in other ways calls ``respond`` any
    number of times, the last time with ``final``.
    """

    def deliver(self, request: "InferRequest", outputs: Arrays) -> None:
        """The one answer: an array for each of ``request.plan.outputs``."""
        ...

    def fail(self, request: "InferRequest", error: Exception) -> None: ...

    def respond(self, request: "InferRequest", response: Response | None, *, final: bool) -> None:
        """One answer, or None with ``final``: no more will come. Errors in it end nothing."""
        ...


# why gc=False: at tens of thousands a second, tracking them costs more than they do; the one
# cycle (request <-> its sink) is cut when the answer is delivered.
class InferRequest(msgspec.Struct, gc=False, eq=False):
    """``inputs`` are in configuration order. Times are monotonic nanoseconds.

    Two requests are never equal: queues find one among thousands by what it is.
    """

    plan: Plan
    inputs: list[Any]
    sink: Sink
    id: str = ""
    arrived_ns: int = 0
    queued_ns: int = 0
    deadline_ns: int = 0
    timeout_ns: int = 0  # how long it may wait, as the client asked; 0: it did not
    priority: int = 0
    form: Any = None  # the front end's own note: how to write the answer
    model: Any = None  # the model version that serves it: held until the answer is out
    timings: Any = None  # (start, input end, compute end, output end) once executed
    sequence: SequencePart | None = None
    parameters: dict[str, ParameterValue] | None = None  # custom ones, for backends that look
    trace: Any = None  # the tracer's own note on a sampled request
    # the outputs that are wanted on a device, by name
    device_windows: dict[str, DeviceWindow] | None = None
    stay: tuple[str, ...] = ()  # the outputs that may be answered as DeviceTensors
    cancelled: bool = False  # the client has gone: long work may look and stop
    watched: Any = None  # what hears of its end, where somebody may want to know of it
    x_request_id: bytes = b""  # of a client's request that is watched, ``padded``
    batch: int = 1  # requests that were executed together with it, once executed

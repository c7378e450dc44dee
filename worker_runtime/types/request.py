"""One inference on its way through the runtime. Built per request: kept small and cheap."""

from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np

from worker_runtime.types.tensor import DataType

# Raw bytes in the tensor's wire layout, or (for BYTES) an object array of the wire shape.
Buffer: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, Any]
Arrays: TypeAlias = list[np.ndarray[Any, Any]]


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


class Sink(Protocol):
    """Where an answer goes; called in the event loop, exactly once per request."""

    def deliver(self, request: "InferRequest", outputs: Arrays) -> None: ...

    def fail(self, request: "InferRequest", error: Exception) -> None: ...


# why gc=False: at tens of thousands a second, tracking them costs more than they do; the one
# cycle (request <-> its sink) is cut when the answer is delivered.
class InferRequest(msgspec.Struct, gc=False):
    """``inputs`` are in configuration order. Times are monotonic nanoseconds."""

    plan: Plan
    inputs: list[Any]
    sink: Sink
    id: str = ""
    arrived_ns: int = 0
    queued_ns: int = 0
    deadline_ns: int = 0
    priority: int = 0
    form: Any = None  # the front end's own note: how to write the answer
    model: Any = None  # the model version that serves it: held until the answer is out
    timings: Any = None  # (start, input end, compute end, output end) once executed

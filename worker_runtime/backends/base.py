"""The contract between the core and a backend."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct, field

from worker_runtime.backends.attempt import Attempt
from worker_runtime.observability.requests.watched import Watch
from worker_runtime.types.code import EVERYTHING, AllowedCode
from worker_runtime.types.device_memory import DeviceBuffer, DeviceWindow
from worker_runtime.types.request import (
    Buffer,
    InferRequest,
    ParameterValue,
    Response,
    SequencePart,
)
from worker_runtime.types.signature import ModelGraph
from worker_runtime.types.tensor import DataType

Array = np.ndarray[Any, Any]


class Placement(Struct, frozen=True):
    """One instance: its name and the GPU it runs on (None: the CPU)."""

    name: str
    gpu: int | None = None


class LoadSpec(Struct, frozen=True):
    """What to load. ``path`` is the version directory; ``cores`` bounds all CPU instances.

    ``config`` is the normalised ``inference.ModelConfig``, before anything is completed;
    ``max_batch_given``: its max_batch_size was written down, also when it is 0. ``shared_code``:
    the folder of a backend whose ``model.py`` serves the model in the place of its own.
    ``attempt``: what the load waits for can be ended through it. ``code``: what may be run.
    """

    name: str
    version: int
    path: Path
    filename: str
    parameters: Mapping[str, str]
    placements: tuple[Placement, ...]
    cores: int
    graph_level: int = 0
    backend_settings: Mapping[str, str] = field(default_factory=dict)
    config: Any = None
    host: "Host | None" = None
    max_batch_given: bool = False
    default_max_batch_size: int = 4
    shared_code: Path | None = None
    attempt: Attempt = field(default_factory=Attempt)
    code: AllowedCode = EVERYTHING


class RequestTrace(Protocol):
    """The trace of a request that was sampled, to be handed on with calls that it leads to."""

    @property
    def context(self) -> str:
        """Its OpenTelemetry context as JSON, "" when it does not become spans."""
        ...

    def follow(self, request: InferRequest) -> None: ...


class ModelCall(Struct, frozen=True):
    """A request that a model makes of another one; ``inputs`` are name, data type and array.

    ``version`` "" is the highest. Unless ``decoupled`` exactly one answer is wanted. ``trace`` is
    that of the request which it is made for, when the model says so; ``watch`` notes it with
    those that people may want to look at. ``caller`` is the name and the version of the model that
    calls, in whose statistics the call counts; None for a program that embeds the server.
    """

    model: str
    version: str
    inputs: tuple[tuple[str, str, Array], ...]
    outputs: tuple[str, ...]
    id: str = ""
    sequence: SequencePart | None = None
    timeout_ns: int = 0
    parameters: Mapping[str, ParameterValue] | None = None
    decoupled: bool = False
    trace: RequestTrace | None = None
    watch: Watch | None = None
    caller: tuple[str, str] | None = None


class ModelMetrics(Protocol):
    """Metrics that models make themselves. Raises InvalidArgument, AlreadyExists or NotFound."""

    def family(self, name: str, text: str, kind: int) -> None:
        """``kind``: 0 counter, 1 gauge, 2 histogram."""
        ...

    def make(
        self, name: str, labels: Mapping[str, str], buckets: Sequence[float] | None
    ) -> None: ...

    def change(self, name: str, labels: Mapping[str, str], what: str, value: float) -> None:
        """``what``: increment, set or observe."""
        ...

    def value(self, name: str, labels: Mapping[str, str]) -> float: ...


class Host(Protocol):
    """What a backend may ask of the server that it runs in. Called from any thread."""

    metrics: ModelMetrics

    def infer(
        self, call: ModelCall, answer: Callable[[Response | None, bool], None]
    ) -> Callable[[], None]:
        """Start ``call``; ``answer`` is called in the event loop, the last time with True.

        What is given back cancels the call. Raises nothing: errors are answers.
        """
        ...

    def model_ready(self, name: str, version: str) -> bool:
        """False too for a model that does not exist."""
        ...

    def load_model(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        """Blocking. Raises a RuntimeFault."""
        ...

    def unload_model(self, name: str, *, dependents: bool) -> None:
        """Blocking. Raises a RuntimeFault."""
        ...


class Instance(Protocol):
    """One place of execution; called by one thread at a time."""

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        """Run one batch. Inputs are C-contiguous and must not be kept.

        Outputs come in the order asked for, each with the batch axis first where the model
        batches. BYTES tensors are object arrays: of ``bytes`` going in, ``bytes`` or ``str``
        coming out.
        """
        ...


class BatchInput(Struct):
    """One input of a batch, in the parts that its requests sent; ``shape`` is that of the whole."""

    name: str
    datatype: DataType
    shape: tuple[int, ...]
    parts: list[Buffer | DeviceBuffer]


class DeviceTarget(Struct, frozen=True):
    """Rows ``start`` to ``stop`` of an output (all, without a ``stop``) belong in a window."""

    output: str
    window: DeviceWindow
    start: int = 0
    stop: int = 0


class DeviceLane(Protocol):
    """One way through a device; called by one thread at a time, beside the instance's others."""

    def execute_parts(
        self,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        targets: Sequence[DeviceTarget],
        soon: Callable[[], None],
        stay: Collection[str] = (),
    ) -> "DeviceOutcome":
        """Run one batch. The parts of inputs must not be kept.

        ``soon`` is called when the next batch should come: it is copied by the time at which this
        one has computed. (At its end at the latest, by the caller; called again, it does nothing.)
        An output that every request wants on the device is not copied to the host. Windows with
        too little room are left alone: not ``filled``. Outputs that ``stay`` come as DeviceTensors
        where the device has room for a copy.
        """
        ...


class DeviceOutcome(Struct):
    """What an execution gave, as ``Instance.execute`` does, and how long it took on the device.

    ``arrays`` of outputs that are only on the device have the right shape and no contents. The
    times (ns) are those of the copies to the device and of the model itself.
    """

    arrays: list[Array]
    input_ns: int
    compute_ns: int
    computed_at_ns: int


class DeviceInstance(Instance, DeviceLane, Protocol):
    """One place of execution on a device, with several lanes: while the batch of one computes,
    that of another is copied.

    Lanes may be used at the same time, ``execute`` and ``execute_parts`` beside nothing else.
    """

    lanes: Sequence[DeviceLane]


class BackendRequest(Protocol):
    """One request as a ``RequestInstance`` sees it. All of it may be used from any thread."""

    @property
    def id(self) -> str: ...

    @property
    def inputs(self) -> Mapping[str, Array]:
        """By name, each with its own batch axis; optional ones that were not sent are absent."""
        ...

    def host_inputs(self, but: Collection[str]) -> Mapping[str, Array]:
        """Those ``inputs`` that are not among the names ``but``, which may lie on a device."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that the client asked for, or all that are configured."""
        ...

    @property
    def parameters(self) -> Mapping[str, ParameterValue]: ...

    @property
    def sequence(self) -> SequencePart | None: ...

    @property
    def timeout_ns(self) -> int: ...

    @property
    def priority(self) -> int: ...

    @property
    def trace(self) -> RequestTrace | None:
        """None when it is not traced."""
        ...

    @property
    def source(self) -> InferRequest:
        """The request itself."""
        ...

    @property
    def cancelled(self) -> bool:
        """The client has gone: answers are thrown away."""
        ...

    def send(
        self,
        response: Response | None,
        *,
        final: bool,
        started_ns: int = 0,
        output_ns: int = 0,
    ) -> None:
        """One answer. Raises Internal after the final one; None is only good with ``final``.

        Its arrays belong to the runtime from now on. For the response statistics of decoupled
        models: when work on this answer began (0: when the one before was sent) and when its
        outputs began to be written (0: they took no time), in monotonic nanoseconds.
        """
        ...

    def skip(self, *, started_ns: int = 0) -> None:
        """An answer that stays empty: nothing is sent, the response statistics count it."""
        ...

    def detach(self) -> None:
        """Its one answer comes apart from its batch: ``send`` hands it on at once, at any time.

        Called before the batch ends; for models that are not decoupled.
        """
        ...

    def reschedule(self) -> None:
        """It is to come again in a later batch; called before the batch ends, not final yet.

        Only models with iterative sequences may: elsewhere the request fails.
        """
        ...


class RequestInstance(Protocol):
    """One place of execution for models that take requests apart: Python, decoupled ones."""

    def execute_requests(self, requests: Sequence[BackendRequest]) -> tuple[int, int] | None:
        """Run one batch of unmerged requests; called by one thread at a time.

        May tell when the inputs were at the model and when it had its outputs (monotonic
        nanoseconds), for the statistics.
        Unless the model is decoupled each request must have had its one final answer on return,
        or be detached; a decoupled one may send on from other threads. What it raises fails every
        request of the batch that has no final answer yet.
        """
        ...


class LoadedModel(Protocol):
    """A model version in memory; ``graph`` is None when the backend cannot tell.

    ``instances`` are all Instance or all RequestInstance, one per placement, in their order. They
    are replaced when a serving model's instance groups change: by those that stay and those of
    another load. One that has a ``close`` is then closed alone.

    One with ``interruptible = True`` may be closed while its instances execute, and ends that.
    """

    instances: Sequence[Any]

    @property
    def graph(self) -> ModelGraph | None: ...

    @property
    def inline(self) -> Instance | None:
        """One more instance that the event loop may call itself while executions are tiny.

        None when the model must keep to its threads: it may block, or uses a device.
        """
        ...

    def close(self) -> None:
        """Give everything back; nothing is called afterwards."""
        ...


class Backend(Protocol):
    def load(self, spec: LoadSpec) -> LoadedModel:
        """Load one version; blocking. Raises LoadFailed with a text for people."""
        ...


@runtime_checkable
class SelfCompleting(Protocol):
    """A backend whose models may fill in their own configuration."""

    def auto_complete(self, spec: LoadSpec) -> None:
        """Change ``spec.config`` in place; blocking. Raises LoadFailed."""
        ...


@runtime_checkable
class SelfReporting(Protocol):
    """A loaded model that can be READY and yet not able to answer."""

    def ready(self) -> bool:
        """Whether it can answer now. Probes ask in the event loop: it must not block."""
        ...


class BuiltIn:
    """A loaded model without a file: nothing but its instances."""

    graph: ModelGraph | None = None
    inline: Instance | None = None

    def __init__(self, instances: Sequence[RequestInstance]) -> None:
        self.instances = instances

    def close(self) -> None:
        self.instances = ()

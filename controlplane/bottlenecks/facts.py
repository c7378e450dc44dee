"""Pure: what is known of a deployment while somebody asks why it is slow."""

from dataclasses import dataclass
from typing import Final

BUSY: Final = 0.7  # share of the instances' time at work, from which on requests queue for them
GPU_FULL: Final = 0.95
CONTENDED: Final = 0.2  # of the time in models: waiting for processors is what makes them slow


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Of the configuration that a replica serves with. ``delay_us``: of the dynamic batcher."""

    max_batch_size: int = 0
    batches: bool = False
    delay_us: float = 0.0
    sequences: bool = False
    ensemble: bool = False
    on_gpu: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model. Times are means over its requests, in microseconds.

    ``share``: its requests over those of the deployment; a step of an ensemble has its own.
    ``settings`` None: no replica could be asked.
    """

    name: str
    share: float = 1.0
    step: bool = False
    request_us: float = 0.0
    queue_us: float = 0.0
    input_us: float = 0.0
    infer_us: float = 0.0
    output_us: float = 0.0
    batch: float | None = None  # mean rows of an execution
    busy: float | None = None
    instances: float = 0.0
    settings: ModelSettings | None = None

    @property
    def compute_us(self) -> float:
        return self.input_us + self.infer_us + self.output_us

    @property
    def executes(self) -> bool:
        return self.instances > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A machine that replicas run on. ``own`` and ``others`` are in processors."""

    name: str
    processors: int
    cpu: float  # 0..1
    own: float = 0.0
    others: tuple[tuple[str, float], ...] = ()  # endpoint, or what else, by how much it takes
    gpu: float | None = None  # 0..1: the busiest card

    @property
    def used(self) -> float:
        return self.cpu * self.processors

    @property
    def own_share(self) -> float:
        return min(1.0, self.own / self.used) if self.used else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A deployment over the last ``seconds``. Times and sizes are means over requests.

    ``total_us``: at the gateway, from a request's first byte to its answer's last; of it
    ``receive_us`` until the client had sent everything, and ``send_us`` from the answer's first
    byte until the client had taken all. ``late_us``: how late the runtime's event loop was.
    ``waited_us``: by request, that threads of the replicas were ready to run and had no processor.
    """

    deployment: str
    seconds: float
    requests: int = 0  # that gateways answered; the times are of ``timed`` of them
    timed: int = 0
    total_us: float = 0.0
    p50_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    receive_us: float = 0.0
    send_us: float = 0.0
    request_bytes: float = 0.0
    response_bytes: float = 0.0
    as_json: float = 0.0  # share of requests
    new_connections: float = 0.0  # by request
    held: int = 0
    wake_s: float = 0.0
    refused: float = 0.0  # for lack of room in a queue
    replicas: int = 0
    late_us: float = 0.0
    waited_us: float = 0.0
    models: tuple[ModelFacts, ...] = ()
    nodes: tuple[NodeFacts, ...] = ()

    @property
    def runtime_us(self) -> float:
        """Mean time of a request in the runtime."""
        return sum(one.share * one.request_us for one in self.models if not one.step)

    @property
    def outside_us(self) -> float:
        """What neither the client nor the runtime accounts for: gateway, network, text of JSON."""
        return max(0.0, self.total_us - self.receive_us - self.send_us - self.runtime_us)

    @property
    def unnamed_us(self) -> float:
        """What a request took in the runtime beyond its queue and its computation."""
        return sum(
            one.share * max(0.0, one.request_us - one.queue_us - one.compute_us)
            for one in self.models
            if not one.step
        )

    @property
    def fullest(self) -> NodeFacts | None:
        """The node whose processors are in use most."""
        return max(self.nodes, key=lambda node: node.cpu, default=None)

    @property
    def infer_us(self) -> float:
        """In models, whichever execute."""
        return sum(one.share * one.infer_us for one in self.models if one.executes)

    @property
    def queue_us(self) -> float:
        return sum(one.share * one.queue_us for one in self.models if one.executes)

    @property
    def contended(self) -> bool:
        """Whether processors are what it waits for."""
        return self.waited_us >= CONTENDED * self.infer_us > 0

    def gpu_is_full(self, model: ModelFacts) -> bool:
        """Whether a card that it may compute on has no time left."""
        on_gpu = model.settings is not None and model.settings.on_gpu
        return on_gpu and any((node.gpu or 0.0) >= GPU_FULL for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a request's way. ``name`` is stable, ``us`` its mean in microseconds."""

    name: str
    us: float


def parts(facts: Facts) -> tuple[Part, ...]:
    """Where the mean time of a request went, in the order of its way."""
    top = [one for one in facts.models if not one.step]

    def mean(name: str) -> float:
        return sum(one.share * float(getattr(one, name)) for one in top)

    return (
        Part("client_sends", facts.receive_us),
        Part("gateway", facts.outside_us),
        Part("protocol", facts.unnamed_us),
        Part("queue", mean("queue_us")),
        Part("compute_input", mean("input_us")),
        Part("compute_infer", mean("infer_us")),
        Part("compute_output", mean("output_us")),
        Part("client_takes", facts.send_us),
    )

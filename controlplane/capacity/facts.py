"""Pure: what is known of nodes, replicas and deployments for who asks what there is room for.

Sizes are bytes. None where nothing was measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as its node reports it. ``peak``: its use in the busiest hour of the last day, 0..1."""

    uuid: str
    name: str
    memory_total_bytes: int
    memory_used_bytes: int
    index: int = 0
    utilization: float | None = None
    peak: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A machine by its last report. ``cpu_peak``: of its busiest hour of the last day, 0..1."""

    id: str
    name: str
    online: bool = True
    cordoned: bool = False
    processors: int = 0
    cpu: float = 0.0
    cpu_peak: float | None = None
    memory_total_bytes: int = 0
    memory_used_bytes: int = 0
    cards: tuple[Card, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFacts:
    """A replica that shall run. The last three are what its instance type asks of a node."""

    id: str
    node_id: str
    deployment_id: int
    ordinal: int = 0
    ready: bool = True
    gpus: tuple[str, ...] = ()
    gpu_bytes: int = 0  # that it is thought to take of each of them
    instance_type: str = ""
    cpu_count: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A deployment over the last day. The peaks are means over its busiest hour, each of its own.

    ``seconds``: that ``requests`` were counted in, and ``request_rate``: by gateways, without load
    sweeps and copies. ``busy``: share of its models' instances at
    work; ``cpu``: processors that its replicas used; ``concurrency``: requests in the runtimes at a
    time; ``memory_bytes``: of all its replicas.
    """

    seconds: float
    requests: int = 0
    request_rate: float | None = None
    busy: float | None = None
    cpu: float | None = None
    concurrency: float | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What the last load sweep of a deployment's revision found of one replica. ``rate``: good
    answers a second; ``point``: where on its curve, in words; ``when``: its day."""

    rate: float
    point: str
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFacts:
    """``max_concurrent``: requests that one replica takes at a time; None: any number."""

    id: int
    endpoint: str
    name: str
    project: str
    traffic: int = 0
    replicas: tuple[ReplicaFacts, ...] = ()
    max_concurrent: int | None = None
    measured: Measured | None = None
    swept: Swept | None = None

    @property
    def title(self) -> str:
        return f"{self.endpoint}/{self.name}"

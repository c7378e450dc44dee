"""The values that reconciling looks at, and the actions that it asks for."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controlplane.deployments.types import NO_GPU_MEMORY, Desired, Failure, ReplicaState
from controlplane.operations.types import OperationKind, StageName, StageStatus

# Silence after which a replica is placed elsewhere, unless an installation says otherwise.
LOST_AFTER: Final = timedelta(minutes=2)
# The same for one that its node has never said a word about: nothing runs there that would be lost.
UNTAKEN_AFTER: Final = timedelta(seconds=20)

R = ReplicaState
RANK: Final = {
    R.PENDING: 0,
    R.DOWNLOADING: 1,
    R.STARTING: 2,
    R.LOADING: 2,
    R.WARMING: 3,
    R.READY: 4,
}
DELETIONS: Final = (OperationKind.DELETE_DEPLOYMENT, OperationKind.DELETE_ENDPOINT)


@dataclass(frozen=True, slots=True)
class Stage:
    name: StageName
    status: StageStatus = StageStatus.PENDING
    started_at: datetime | None = None
    ended_at: datetime | None = None
    detail: str = ""
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    id: str
    ordinal: int
    node: str  # name
    desired: Desired
    state: ReplicaState
    state_age: timedelta
    silence: timedelta  # since its node's last report
    node_offline: bool
    own: bool = True  # placed by this operation
    attempts: int = 0
    downloaded_bytes: int = 0
    total_bytes: int = 0
    cached_bytes: int = 0
    installing: str = ""  # what its node's installer of packages said last; empty: none is at work
    install_seconds: float = 0.0
    error: Failure | None = None
    lost_after: timedelta = LOST_AFTER
    replaces: str = ""  # the replica that goes once this one is ready
    resting: bool = False  # traffic leaves it; it is started again after that
    relieved: timedelta | None = None  # since it was started again for lack of GPU memory

    @property
    def running(self) -> bool:
        return self.desired == Desired.RUNNING

    @property
    def lost(self) -> bool:
        return self.silence > self.lost_after

    @property
    def no_gpu_memory(self) -> bool:
        return self.error is not None and self.error.code == NO_GPU_MEMORY

    @property
    def under_memory_pressure(self) -> bool:
        """It serves, and runs out of GPU memory again and again."""
        return self.state == ReplicaState.READY and self.no_gpu_memory

    @property
    def rank(self) -> int:
        return RANK.get(self.state, 0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What placement says of the ordinals that nobody runs (a part of ``placement.Placement``)."""

    assigned: tuple[tuple[int, str], ...] = ()
    unplaced: tuple[int, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class GateFacts:
    """Of the golden cases that are asked before the first request.

    ``generation``: the endpoint's number from which on gateways reach the new replicas, None before
    it was noted. ``failure``: what was answered otherwise. ``told``: what the answers say.
    ``unanswered``: of the last time, a line each. ``waits``: nobody asks just now.
    """

    generation: int | None = None
    failure: Failure | None = None
    told: str = ""
    unanswered: tuple[str, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """Everything one step looks at."""

    kind: OperationKind
    stages: tuple[Stage, ...]
    now: datetime
    deadline_at: datetime
    cancel_requested: bool
    instance_count: int
    replicas: tuple[ReplicaFacts, ...]
    spec_failure: Failure | None  # why this deployment cannot run at all
    chosen: Chosen
    route_generation: int | None  # the endpoint's number that must be confirmed, once routed
    confirmed_generation: int
    refusal: Failure | None = None  # why gateways leave out what this operation made
    unconfirmed: tuple[tuple[str, timedelta], ...] = ()  # silent gateways, and for how long
    wave_size: int = 0  # replicas that may be fetched and started at a time; 0: all
    candidate_asked: datetime | None = None  # when a job was sent that asks its golden cases
    candidate_began: datetime | None = None  # when that job did, which may have had to wait
    candidate_first: datetime | None = None  # when the first of such jobs did
    candidate_answered: bool = False
    gate: GateFacts = GateFacts()

    def own(self) -> list[ReplicaFacts]:
        return [replica for replica in self.replicas if replica.own and replica.running]


@dataclass(frozen=True, slots=True)
class Place:
    assigned: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Stop:
    replica_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    replica_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """Take traffic away first, then start them again: others serve meanwhile."""

    replica_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A twin on another node, or on other GPUs; what still serves goes once that is ready."""

    replica_id: str
    ordinal: int
    node_id: str


@dataclass(frozen=True, slots=True)
class Retire:
    """No longer wanted, as soon as gateways have taken them out."""

    replica_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remove:
    """Forget rows of replicas that are gone."""

    replica_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """Set the traffic that was asked for; a deletion takes it away."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Note from which number of the endpoint on gateways reach the new replicas."""


@dataclass(frozen=True, slots=True)
class AskCandidate:
    """Its golden cases, before a rollout begins or before the first request."""


@dataclass(frozen=True, slots=True)
class Finish:
    pass


@dataclass(frozen=True, slots=True)
class Fail:
    failure: Failure


@dataclass(frozen=True, slots=True)
class Cancel:
    pass


Action = (
    Place
    | Stop
    | Restart
    | Rest
    | Move
    | Retire
    | Remove
    | Route
    | Reach
    | AskCandidate
    | Finish
    | Fail
    | Cancel
)


@dataclass(frozen=True, slots=True)
class Step:
    stages: tuple[Stage, ...]
    actions: tuple[Action, ...] = ()


def missing_ordinals(replicas: tuple[ReplicaFacts, ...], instance_count: int) -> tuple[int, ...]:
    """Ordinals that no running replica holds; a lost one holds none."""
    held = {replica.ordinal for replica in replicas if replica.running and not replica.lost}
    return tuple(ordinal for ordinal in range(instance_count) if ordinal not in held)

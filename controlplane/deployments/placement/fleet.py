"""Pure: what every machine has to give to one deployment, once everything there has its share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controlplane.deployments.placement.checks import disk_pressure, gpus_for
from controlplane.deployments.placement.choosing import place, taken
from controlplane.deployments.placement.values import Gpu, Need, Offer, Placement
from controlplane.deployments.types import ReplicaState

# Of the repository's size: weights, and what computing with them takes besides.
GPU_MEMORY_FACTOR: Final = 1.5
# In these states files are still being fetched: the disk does not show yet what they will take.
FETCHING: Final = frozenset({ReplicaState.PENDING, ReplicaState.DOWNLOADING})
# In these the files are on the node.
DOWNLOADED: Final = frozenset(
    {ReplicaState.STARTING, ReplicaState.LOADING, ReplicaState.WARMING, ReplicaState.READY}
)
# In these the node's own report does not count the memory yet that the replica will take.
COMING: Final = FETCHING | (DOWNLOADED - {ReplicaState.READY})


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as its node reports it."""

    uuid: str
    name: str
    memory_total_bytes: int
    memory_used_bytes: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A node by its last report, whoever asks. 0 where it did not say."""

    node_id: str
    name: str
    state: str = "online"
    age_s: float | None = 0.0
    late: bool = False  # its next report is overdue
    cordoned: bool = False
    backends: frozenset[str] = frozenset()
    disk_total_bytes: int = 0
    disk_free_bytes: int = 0
    disk_pressure: bool = False
    cache_bytes: int = 0  # that can be freed
    quota_room_bytes: int | None = None  # that its cache may still take; None: all of the disk
    labels: Mapping[str, str] = field(default_factory=dict)
    cpu_count: int = 0
    memory_total_bytes: int = 0
    cards: tuple[Card, ...] = ()
    no_sandbox_for: tuple[str, ...] | None = None  # of what is required; None: nothing is


@dataclass(frozen=True, slots=True)
class Subject:
    """Which files a replica runs, and whose it is: what makes another one its sibling or twin."""

    deployment_id: int | None  # None: not written yet
    revision_id: int | None
    version_id: int | None


@dataclass(frozen=True, slots=True)
class Tenant:
    """A replica that runs somewhere, as far as it matters to those that are to come."""

    node_id: str
    subject: Subject
    state: str
    size_bytes: int  # of its files
    fetched_bytes: int = 0  # of them, on the disk by now
    gpus: tuple[str, ...] = ()

    @property
    def gpu_bytes(self) -> int:
        """That it is thought to take of each of its GPUs."""
        return gpu_estimate(self.size_bytes, len(self.gpus))


@dataclass(frozen=True, slots=True)
class Fleet:
    machines: tuple[Machine, ...]
    tenants: tuple[Tenant, ...]

    def closed(self, node_ids: Iterable[str]) -> "Fleet":
        """The same, with these nodes cordoned."""
        ids = set(node_ids)
        return replace(
            self,
            machines=tuple(
                replace(machine, cordoned=True) if machine.node_id in ids else machine
                for machine in self.machines
            ),
        )

    def without(self, node_ids: Iterable[str]) -> "Fleet":
        """The same, with these nodes gone, and what ran there."""
        ids = set(node_ids)
        return Fleet(
            tuple(machine for machine in self.machines if machine.node_id not in ids),
            tuple(tenant for tenant in self.tenants if tenant.node_id not in ids),
        )


@dataclass(frozen=True, slots=True)
class Departure:
    """Replicas of one deployment that must run elsewhere: the need's ordinals."""

    subject: Subject
    need: Need


def gpu_estimate(size_bytes: int, gpu_count: int) -> int:
    """Bytes that a model is thought to take of each of its GPUs."""
    return int(size_bytes * GPU_MEMORY_FACTOR / max(gpu_count, 1))


def offers_of(fleet: Fleet, subject: Subject) -> list[Offer]:
    """What every node has to give to this deployment."""
    here: dict[str, list[Tenant]] = {machine.node_id: [] for machine in fleet.machines}
    for tenant in fleet.tenants:
        here.get(tenant.node_id, []).append(tenant)
    return [_offer(machine, subject, here[machine.node_id]) for machine in fleet.machines]


def _offer(machine: Machine, subject: Subject, here: list[Tenant]) -> Offer:
    siblings = [tenant for tenant in here if tenant.subject.deployment_id == subject.deployment_id]
    awaited = _awaited(here)
    total, free = machine.disk_total_bytes, machine.disk_free_bytes
    return Offer(
        node_id=machine.node_id,
        name=machine.name,
        state=machine.state,
        age_s=machine.age_s,
        late=machine.late,
        cordoned=machine.cordoned,
        backends=machine.backends,
        disk_total_bytes=total,
        disk_free_bytes=free,
        disk_promised_bytes=sum(awaited.values()),
        cache_bytes=machine.cache_bytes,
        quota_room_bytes=machine.quota_room_bytes,
        replicas=len(here),
        siblings=len(siblings),
        twins=sum(tenant.subject.revision_id == subject.revision_id for tenant in siblings),
        labels=machine.labels,
        cpu_count=machine.cpu_count,
        memory_total_bytes=machine.memory_total_bytes,
        gpus=tuple(_gpu(card, here) for card in machine.cards),
        no_sandbox_for=machine.no_sandbox_for,
        disk_pressure=machine.disk_pressure or disk_pressure(total, free),
        holds_model=any(_same_files(tenant, subject, DOWNLOADED) for tenant in here),
        expects_model=any(_same_files(tenant, subject, FETCHING) for tenant in here),
    )


def _same_files(tenant: Tenant, subject: Subject, states: frozenset[ReplicaState]) -> bool:
    same = subject.version_id is not None and tenant.subject.version_id == subject.version_id
    return same and tenant.state in states


def _awaited(here: list[Tenant]) -> dict[int | None, int]:
    """Version -> bytes still to be fetched. Replicas of one version share their files."""
    there = {tenant.subject.version_id for tenant in here if tenant.state in DOWNLOADED}
    found: dict[int | None, int] = {}
    for tenant in here:
        version = tenant.subject.version_id
        if tenant.state in FETCHING and version not in there:
            left = max(tenant.size_bytes - tenant.fetched_bytes, 0)
            found[version] = min(left, found.get(version, left))
    return found


def _gpu(card: Card, here: list[Tenant]) -> Gpu:
    given = [tenant for tenant in here if card.uuid in tenant.gpus]
    promised = sum(tenant.gpu_bytes for tenant in given if tenant.state in COMING)
    return Gpu(
        uuid=card.uuid,
        name=card.name,
        memory_total_bytes=card.memory_total_bytes,
        memory_free_bytes=card.memory_total_bytes - card.memory_used_bytes - promised,
        replicas=len(given),
    )


def relocate(fleet: Fleet, departures: Iterable[Departure]) -> tuple[list[Placement], Fleet]:
    """Where everything that must leave goes, one deployment after another, and the fleet then.

    Each takes room from the next. Asked for all at once or for one after the other, with what was
    decided written in between, the answers are the same: a preview is what then happens.
    """
    found = []
    for departure in departures:
        offers = offers_of(fleet, departure.subject)
        placed = place(departure.need, offers)
        found.append(placed)
        fleet = settled(fleet, departure, placed.assigned)
    return found, fleet


def settled(fleet: Fleet, departure: Departure, assigned: Iterable[tuple[int, str]]) -> Fleet:
    """The fleet once these replicas are on their way to their nodes."""
    need = departure.need
    left = {offer.node_id: offer for offer in offers_of(fleet, departure.subject)}
    coming = []
    for _, node_id in assigned:
        gpus = gpus_for(need.gpu, left[node_id]) if need.gpu.count else ()
        coming.append(
            Tenant(
                node_id=node_id,
                subject=departure.subject,
                state=ReplicaState.PENDING,
                size_bytes=need.size_bytes,
                gpus=tuple(gpu.uuid for gpu in gpus),
            )
        )
        left[node_id] = taken(need, left[node_id])
    return replace(fleet, tenants=(*fleet.tenants, *coming))

"""The values that placement looks at and answers with. Sizes are bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

# Triton names that every runtime brings along: they only combine other models.
BUILT_IN: Final = frozenset({"", "ensemble"})

# How good a place is, smaller is better; ``choosing._rank`` says what of.
Rank = tuple[bool, bool, int, bool, int, bool, int, str]


@dataclass(frozen=True, slots=True)
class Gpu:
    """``memory_free_bytes`` is what is neither used nor promised to a replica that still loads."""

    uuid: str
    name: str
    memory_total_bytes: int
    memory_free_bytes: int
    replicas: int = 0  # of ours that were given it


@dataclass(frozen=True, slots=True)
class Offer:
    """What one node has to give. 0 where the node did not say."""

    node_id: str
    name: str
    state: str  # by age of its last report: online, suspect or offline
    age_s: float | None
    cordoned: bool
    backends: frozenset[str]  # empty: the node did not say
    disk_total_bytes: int
    disk_free_bytes: int
    cache_bytes: int  # of the cache, what can be freed
    replicas: int  # running there, of all deployments
    siblings: int  # of them, of this deployment
    twins: int = 0  # of the siblings, those of the same revision: what anti-affinity keeps apart
    labels: Mapping[str, str] = field(default_factory=dict)
    cpu_count: int = 0
    memory_total_bytes: int = 0
    gpus: tuple[Gpu, ...] = ()
    disk_pressure: bool = False
    no_sandbox_for: tuple[str, ...] | None = None  # of what is required; None: nothing is
    quota_room_bytes: int | None = None  # what its cache may still take; None: all of the disk
    disk_promised_bytes: int = 0  # of what is free, to downloads that are not there yet
    holds_model: bool = False  # the files are in its cache
    expects_model: bool = False  # a replica of the same version is fetching them
    late: bool = False  # its next report is overdue: it may have died since the last one

    @property
    def disk_room_bytes(self) -> int:
        """What another model may take."""
        room = self.disk_free_bytes + self.cache_bytes
        if self.quota_room_bytes is not None:
            room = min(room, self.quota_room_bytes)
        return max(0, room - self.disk_promised_bytes)


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """How many GPUs one replica gets, and what each of them must be."""

    count: int = 0
    required: bool = True  # False: without a fitting one it runs on processors
    model: str = ""  # a part of the name, whatever the case: "T4"
    least_total_bytes: int = 0
    estimate_bytes: int = 0  # what the model is thought to take of each
    least_free_bytes: int = 0  # with less a load has failed; where no GPU is asked for, too
    least_because: str = ""
    avoid: frozenset[str] = frozenset()  # UUIDs: it ran out of memory there

    @property
    def free_bytes(self) -> int:
        return max(self.estimate_bytes, self.least_free_bytes)


@dataclass(frozen=True, slots=True)
class Need:
    ordinals: tuple[int, ...]
    backends: frozenset[str]
    size_bytes: int  # of the model repository
    labels: Mapping[str, str] = field(default_factory=dict)
    instance_type: str = ""
    cpu_count: int = 0
    memory_bytes: int = 0
    gpu: GpuNeed = field(default_factory=GpuNeed)
    one_per_node: bool = False
    avoid: frozenset[str] = frozenset()  # nodes: it ran out of memory there, whatever its GPU


@dataclass(frozen=True, slots=True)
class Check:
    """One question about one node, with its answer in words."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Refusal:
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What placement thinks of one node: why not, or how good a place it is (1 is the best)."""

    node: str
    reason: str | None
    rank: int | None
    because: str
    checks: tuple[Check, ...] = ()
    gpus: tuple[str, ...] = ()  # UUIDs that a replica would get there


@dataclass(frozen=True, slots=True)
class Placement:
    assigned: tuple[tuple[int, str], ...] = ()  # ordinal, node id
    unplaced: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    worst: Rank | None = None  # of the places that were taken

    def why_not(self) -> str:
        if not self.refusals:
            return "No node has joined yet."
        return "\n".join(f"{refusal.node}: {refusal.reason}" for refusal in self.refusals)

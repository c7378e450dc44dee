"""Pure: what becomes of replicas when nodes are lost or emptied, as placement would have it.

``placement.relocate`` decides; nothing here knows what fits where.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from controlplane.capacity.facts import DeploymentFacts, ReplicaFacts
from controlplane.deployments import placement

MOST_REASONS: Final = 5  # that are told of one deployment


@dataclass(frozen=True, slots=True)
class Resident:
    """A deployment as placement sees it: ``need`` has no ordinals yet."""

    facts: DeploymentFacts
    subject: placement.Subject
    need: placement.Need


@dataclass(frozen=True, slots=True)
class Reason:
    """Why nodes take no replica, and how many of them say so."""

    reason: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A replica that was on a lost node. ``to`` None: it finds no place."""

    replica: str
    endpoint: str
    deployment: str
    ordinal: int
    node: str
    to: str | None


@dataclass(frozen=True, slots=True)
class DeploymentLoss:
    """``ready_left``: replicas that go on answering until the others are up again elsewhere."""

    endpoint: str
    deployment: str
    traffic: int
    replicas: int
    lost: int
    placed: int
    ready_left: int
    reasons: tuple[Reason, ...] = ()

    @property
    def unplaced(self) -> int:
        return self.lost - self.placed

    @property
    def silent(self) -> bool:
        """Nothing of it answers until a replica has started elsewhere."""
        return self.ready_left == 0


@dataclass(frozen=True, slots=True)
class EndpointLoss:
    """``traffic_lost``: percent of its traffic that goes to deployments without a ready replica."""

    endpoint: str
    traffic_lost: int
    comes_back: bool  # each of those deployments finds a place for one replica, at least


@dataclass(frozen=True, slots=True)
class Loss:
    replicas: tuple[Moved, ...] = ()
    deployments: tuple[DeploymentLoss, ...] = ()
    endpoints: tuple[EndpointLoss, ...] = ()


def nodes_lost(
    fleet: placement.Fleet, lost: Collection[str], residents: Iterable[Resident]
) -> Loss:
    """What happens when these nodes (ids) are gone at once."""
    names = {machine.node_id: machine.name for machine in fleet.machines}
    hit = [one for one in residents if any(row.node_id in lost for row in one.facts.replicas)]
    departures = [departure(one, lost) for one in hit]
    places, _ = placement.relocate(fleet.without(lost), departures)
    moved: list[Moved] = []
    losses: list[DeploymentLoss] = []
    for one, going, found in zip(hit, departures, places, strict=True):
        targets = {ordinal: names[node_id] for ordinal, node_id in found.assigned}
        rows = [_moved(one, row, going, targets, names, lost) for row in _of(one, lost)]
        moved += rows
        losses.append(_loss(one, rows, found, lost))
    return Loss(tuple(moved), tuple(losses), _endpoints(losses))


def can_be_emptied(fleet: placement.Fleet, node_id: str, residents: Iterable[Resident]) -> bool:
    """Whether all that runs there would fit elsewhere, as a drain would have it."""
    leaving = {node_id}
    hit = [one for one in residents if any(row.node_id == node_id for row in one.facts.replicas)]
    departures = [departure(one, leaving) for one in hit]
    places, _ = placement.relocate(fleet.closed(leaving), departures)
    return not any(place.unplaced for place in places)


def departure(resident: Resident, leaving: Collection[str]) -> placement.Departure:
    """Those without a twin on a node that stays need a new place."""
    going = {row.ordinal for row in _of(resident, leaving)}
    staying = {row.ordinal for row in resident.facts.replicas if row.node_id not in leaving}
    need = replace(resident.need, ordinals=tuple(sorted(going - staying)))
    return placement.Departure(resident.subject, need)


def reasons_of(refusals: Iterable[placement.Refusal]) -> tuple[Reason, ...]:
    """The commonest first: a thousand nodes mostly say the same."""
    counted = Counter(refusal.reason for refusal in refusals)
    return tuple(Reason(text, count) for text, count in counted.most_common(MOST_REASONS))


def _of(resident: Resident, leaving: Collection[str]) -> list[ReplicaFacts]:
    return [row for row in resident.facts.replicas if row.node_id in leaving]


def _moved(
    resident: Resident,
    row: ReplicaFacts,
    going: placement.Departure,
    targets: dict[int, str],
    names: dict[str, str],
    lost: Collection[str],
) -> Moved:
    if row.ordinal in going.need.ordinals:
        to = targets.get(row.ordinal)
    else:
        rows = resident.facts.replicas
        twin = next(o for o in rows if o.ordinal == row.ordinal and o.node_id not in lost)
        to = names[twin.node_id]
    facts = resident.facts
    return Moved(row.id, facts.endpoint, facts.name, row.ordinal, names[row.node_id], to)


def _loss(
    resident: Resident,
    rows: Sequence[Moved],
    found: placement.Placement,
    lost: Collection[str],
) -> DeploymentLoss:
    facts = resident.facts
    return DeploymentLoss(
        endpoint=facts.endpoint,
        deployment=facts.name,
        traffic=facts.traffic,
        replicas=len(facts.replicas),
        lost=len(rows),
        placed=sum(row.to is not None for row in rows),
        ready_left=sum(row.ready for row in facts.replicas if row.node_id not in lost),
        reasons=reasons_of(found.refusals) if found.unplaced else (),
    )


def _endpoints(losses: Iterable[DeploymentLoss]) -> tuple[EndpointLoss, ...]:
    silent: dict[str, list[DeploymentLoss]] = {}
    for one in losses:
        if one.silent and one.traffic:
            silent.setdefault(one.endpoint, []).append(one)
    return tuple(
        EndpointLoss(name, sum(row.traffic for row in rows), all(row.placed for row in rows))
        for name, rows in sorted(silent.items())
    )

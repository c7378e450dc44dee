"""What the replicas of both arms of a rollout carry, from their samples: what they use of what they
may, and the copies of requests that no gateway counts."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from controlplane.deployments.models import Endpoint, Replica
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.metrics.counters import START, Track
from controlplane.metrics.selectors import live_tracks
from controlplane.nodes.selectors import cadence_now
from controlplane.operations.models import Rollout
from controlplane.operations.services.loads import Pace, load_of
from controlplane.rollouts import SATURATION, Arm, Plan, State, Used, Window

LATE_S: Final = 4.0  # samples may come so late; nobody waits longer for one that is due
CANCELED: Final = "failure.CANCELED"  # by who called
Tracks = Mapping[tuple[str, str], Mapping[str, Track]]


@dataclass(frozen=True, slots=True)
class Carried:
    own: Used = field(default_factory=dict)
    stable: Used = field(default_factory=dict)
    copies: Sequence[Window] = ()


def carried_of(
    row: Rollout, endpoint: Endpoint, plan: Plan, state: State, now: datetime
) -> Carried:
    """One read of samples; none where this rollout looks at none of it."""
    copied = bool(plan.stages[state.step].mirror)
    if not copied and SATURATION not in plan.guardrails:
        return Carried()
    pace, at = Pace(cadence_now().sample_s), now.timestamp()
    since = min(state.copies.until or state.since, at)
    waited_s = pace.sample_s + LATE_S
    tracks = live_tracks([endpoint.name], since - pace.lookback_s - waited_s, at)
    stable = sorted(set(row.previous_traffic) - {row.candidate})
    own_used = stable_used = {}
    if SATURATION in plan.guardrails:
        own_used = _used(endpoint, [row.candidate], tracks, at, pace)
        stable_used = _used(endpoint, stable, tracks, at, pace)
    windows: list[Window] = []
    arms = [
        [one for name in names for one in tracks.get((endpoint.name, name), {}).values()]
        for names in ([row.candidate], stable)
    ]
    until = _told_until(arms, since, at, waited_s) if copied else None
    if until is not None:
        own, others = (_arm(one, since, until) for one in arms)
        windows = [Window(until, own, others)]
    return Carried(own_used, stable_used, windows)


def _told_until(
    arms: Sequence[Sequence[Track]], since: float, at: float, waited_s: float
) -> float | None:
    """Up to when all replicas have told what they counted; what is younger comes with the next
    window. None where that is nothing new of one of the arms: alone, the other's count is no
    evidence.

    why not a fixed time: the candidate would get copies that it is known to fail for as long.
    """
    awaited = [[one for one in arm if one.at and one.at[-1] > at - waited_s] for arm in arms]
    until = min((one.at[-1] for arm in awaited for one in arm), default=at - waited_s)
    told = all(
        any(_index(one, until) > _index(one, since) for one in arm) for arm in awaited if arm
    )
    return until if told and until > since else None


def _index(track: Track, at: float) -> int:
    """Of its last sample up to then; -1 where there is none."""
    return bisect_right(track.at, at) - 1


def _used(
    endpoint: Endpoint, names: Sequence[str], tracks: Tracks, at: float, pace: Pace
) -> dict[str, float]:
    """Means over replicas of what each uses; the arm's fullest deployment speaks for it."""
    found: dict[str, float] = {}
    for name in names:
        own = tracks.get((endpoint.name, name), {})
        rows = Replica.objects.filter(
            deployment__endpoint=endpoint,
            deployment__name=name,
            desired=Desired.RUNNING,
            state=ReplicaState.READY,
        ).select_related("node", "revision__instance_type")
        load = load_of(own, rows, at, pace) if own else None
        if load is None or at - load.at > load.fresh_s:
            continue
        measured = {
            "cpu": None if load.cpu is None else load.cpu / load.sampled,
            "gpu": None if load.gpu is None else load.gpu / _gpu_sets(rows),
            "instances": load.busy,
        }
        for kind, share in measured.items():
            if share is not None:
                found[kind] = max(found.get(kind, 0.0), share)
    return found


def _gpu_sets(rows: Iterable[Replica]) -> int:
    """Replicas that share a machine's GPUs share what these do."""
    return len({(row.node_id, tuple(row.gpus or ())) for row in rows}) or 1


def _arm(tracks: Iterable[Track], since: float, until: float) -> Arm:
    """What replicas counted from one moment to the other."""
    requests = failed = total_us = 0.0
    for track in tracks:
        last = _index(track, until)
        base = track.before(since, last) if last >= 0 else last
        if last <= max(base, START):
            continue
        span = (base, last)
        wrong = track.increase("failure", span) - track.increase(CANCELED, span)
        requests += track.increase("success", span) + wrong
        failed += wrong + track.increase("error_answers", span)
        total_us += track.increase("request_us", span)
    return Arm(requests=round(requests), failed=round(failed), total_us=total_us)

"""What an experiment shows of an endpoint: its arms, how they compare, what they answered; and
how the last change of its traffic does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from controlplane.core.models import Event
from controlplane.deployments.errors import DeploymentNotFound
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.rules import rule_text
from controlplane.deployments.selectors import traffic_change_shown
from controlplane.deployments.traffic_watch import WatchState, gaining, given
from controlplane.experiments.comparison import SURE, Comparison, compared
from controlplane.experiments.traffic_watch import BEFORE_S, watched
from controlplane.metrics.selectors import Answered, answered, gateway_samples_since
from controlplane.operations.models import Rollout
from controlplane.rollouts import (
    FAILED,
    REFUSED,
    Arm,
    compared_from_json,
    golden_from_json,
    golden_text,
)

MOST_ROLLOUTS: Final = 50  # looked through for what an arm answered
CHANGES: Final = ("endpoint.traffic_changed", "endpoint.rules_changed", "endpoint.limits_changed")
Shown = dict[str, Any]


def arms_of(endpoint: Endpoint, baseline: str = "") -> list[str]:
    """Who has a share or a rule; first what is compared with: ``baseline``, or the largest share.

    Raises DeploymentNotFound where ``baseline`` is none of them.
    """
    rows = [row.name for row in endpoint.deployments.all()]
    ruled = {rule["deployment"] for rule in endpoint.traffic_rules}
    shares = endpoint.traffic
    arms = sorted(
        (name for name in rows if shares.get(name) or name in ruled),
        key=lambda name: (-shares.get(name, 0), name),
    )
    if not baseline:
        return arms
    if baseline not in arms:
        known = ", ".join(arms) or "none"
        raise DeploymentNotFound(
            f"{baseline} is no arm of {endpoint.name}: expected one with a share or a rule "
            f"({known}).",
            field="baseline",
        )
    return [baseline, *(name for name in arms if name != baseline)]


def experiment(endpoint: Endpoint, *, baseline: str, seconds: float, now: datetime) -> Shown:
    """``endpoint`` as ``endpoint_get`` reads it. The number of queries is that of any endpoint's,
    however many arms there are. Raises DeploymentNotFound."""
    arms = arms_of(endpoint, baseline)
    end = now.timestamp()
    since = end - seconds
    answers = answered(endpoint.name, since, minutes_since=since, born=endpoint.created_at)
    moments = _moments(answers, arms)
    found = compared(moments, arms, end) if arms else {}
    whole = sum(one.measured.requests for one in found.values())
    rows = {row.name: row for row in endpoint.deployments.all()}
    told = _answers_of(endpoint)
    return {
        "endpoint": endpoint.name,
        "seconds": seconds,
        "baseline": arms[0] if arms else "",
        "interval": SURE,
        "changed_at": _changed_at(endpoint),
        "notes": _notes(endpoint),
        "arms": [
            {
                **_arm(rows[name], endpoint),
                **_compared(found[name], whole),
                **told.get((name, rows[name].revision.number), {"golden": None, "answers": None}),
            }
            for name in arms
        ],
    }


def traffic_watch(endpoint: Endpoint, now: datetime) -> Shown:
    """How the last change of the traffic of ``endpoint``, as ``endpoint_get`` reads it, does."""
    change = traffic_change_shown(endpoint, now)
    if change is None:
        return {"endpoint": endpoint.name, "change": None, "left_s": None, "found": None}
    before, after = change["before"], change["after"]
    changed_at = change["changed_at"].timestamp()
    routed_at = change["routed_at"].timestamp() if change["routed_at"] else None
    ends = [at.timestamp() for at in (now, change["watched_until"], change["undone_at"]) if at]
    names = {row.name for row in endpoint.deployments.all()} | set(given(before))
    since = max(changed_at - BEFORE_S, endpoint.created_at.timestamp())
    found = watched(
        gateway_samples_since(endpoint.name, names, since, min(ends)),
        gaining(before, after),
        changed_at=changed_at,
        since=routed_at,
        nobody=not given(after),
    )
    watching = change["state"] == WatchState.WATCHING
    return {
        "endpoint": endpoint.name,
        "change": change,
        "left_s": (change["watched_until"] - now).total_seconds() if watching else None,
        "found": found,
    }


def _moments(answers: Iterable[Answered], arms: Sequence[str]) -> dict[float, dict[str, Arm]]:
    """What gateways counted of ``arms``, by the windows in which they did."""
    found: dict[float, dict[str, Arm]] = {}
    for one in answers:
        if one.deployment in arms:
            beside = found.setdefault(one.end, {})
            beside[one.deployment] = _added(beside.get(one.deployment, Arm()), one)
    return dict(sorted(found.items()))


def _added(known: Arm, more: Answered) -> Arm:
    histogram = dict(known.histogram)
    for bucket, count in more.histogram.items():
        histogram[int(bucket)] = histogram.get(int(bucket), 0) + count
    return Arm(
        requests=known.requests + sum(more.classes.values()),
        failed=known.failed + more.classes.get(FAILED, 0),
        refused=known.refused + more.classes.get(REFUSED, 0),
        histogram=histogram,
    )


def _arm(row: Deployment, endpoint: Endpoint) -> Shown:
    version = row.revision.model_version
    return {
        "deployment": row.name,
        "model": version.model.name,
        "version": version.version,
        "revision": row.revision.number,
        "asked_percent": endpoint.traffic.get(row.name, 0),
        "rules": [
            rule_text(rule) for rule in endpoint.traffic_rules if rule["deployment"] == row.name
        ],
    }


def _compared(found: Comparison, whole: int) -> Shown:
    measured = found.measured
    low, high = measured.failed_between
    p50, p95, p99 = measured.quantiles_us
    return {
        "measured_percent": 100 * measured.requests / whole if whole else None,
        "requests": measured.requests,
        "failed": measured.failed,
        "refused": measured.refused,
        "failed_share": measured.failed / measured.requests if measured.requests else None,
        "failed_low": low,
        "failed_high": high,
        "p50_us": p50,
        "p95_us": p95,
        "p99_us": p99,
        "missing": measured.missing,
        "verdict": found.verdict,
        "text": found.text,
        "differences": [
            {
                **{
                    name: value
                    for name, value in asdict(one).items()
                    if name not in ("own", "baseline")
                },
                "bad": one.own.bad,
                "of": one.own.of,
                "baseline_bad": one.baseline.bad,
                "baseline_of": one.baseline.of,
            }
            for one in found.differences
        ],
    }


def _answers_of(endpoint: Endpoint) -> Mapping[tuple[str, int], Shown]:
    """By deployment and revision: what its newest rollout learned of its answers."""
    wanted = ("candidate", "revision", "golden", "compared")
    rows = Rollout.objects.filter(endpoint=endpoint).order_by("-created_at")
    found: dict[tuple[str, int], Shown] = {}
    for name, revision, golden, same in rows.values_list(*wanted)[:MOST_ROLLOUTS]:
        known = found.setdefault((name, revision), {"golden": None, "answers": None})
        known["golden"] = known["golden"] or _golden(golden, name)
        known["answers"] = known["answers"] or _same(same)
    return found


def _golden(kept: Mapping[str, Any] | None, name: str) -> Shown | None:
    found = golden_from_json(kept)
    if found.at is None or not found.cases:
        return None
    return {
        "at": datetime.fromtimestamp(found.at, tz=UTC),
        "cases": found.cases,
        "wrong": len(found.wrong),
        "unanswered": len(found.unanswered),
        "text": golden_text(found, name),
    }


def _same(kept: Mapping[str, Any] | None) -> Shown | None:
    found = compared_from_json(kept)
    if not found.candidate.of:
        return None
    return {
        "differed": found.candidate.bad,
        "inputs": found.candidate.of,
        "baseline_differed": found.stable.bad,
        "baseline_inputs": found.stable.of,
        "worse": found.confidence,
        "example": found.example,
    }


def _changed_at(endpoint: Endpoint) -> datetime | None:
    """When shares, rules or what clients are told apart by were changed last."""
    rows = Event.objects.filter(
        subject=f"endpoint/{endpoint.name}", verb__in=CHANGES, at__gte=endpoint.created_at
    )
    return rows.order_by("-seq").values_list("at", flat=True).first()


def _notes(endpoint: Endpoint) -> list[str]:
    """What to know before anything is made of the figures."""
    notes = []
    if endpoint.traffic_rules:
        notes.append(
            "Requests that a rule sends to a deployment count for it, though no lot was drawn: "
            "who they come from may be what differs."
        )
    if endpoint.sticky:
        notes.append(
            "Clients stay with one deployment, so the lot is drawn for each client, and the "
            "confidence holds where there are many: a few that fail much can make the difference."
        )
    return notes

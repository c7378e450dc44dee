"""What the rules look at: one function for each, from rows to observations.

What a function returns is all that there is: an alert that it does not mention has lost its
subject. One that raises says nothing, and its rule's alerts stay as they are.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from django.conf import settings

from controlplane.alerts.evaluation import Observation
from controlplane.alerts.models import ObjectiveRow
from controlplane.alerts.rules import INSTALLATION, Settings
from controlplane.alerts.selectors.objectives import LONGEST_BURN_S, objective_of, slices_read
from controlplane.alerts.selectors.objectives import status_of as objective_status
from controlplane.alerts.types import NOT_SAMPLED
from controlplane.capture.models import CaptureBaseline
from controlplane.deployments.models import Deployment
from controlplane.deployments.selectors import endpoint_list, endpoint_shown
from controlplane.deployments.types import Desired, ReplicaState, ServingState
from controlplane.gateway import authority
from controlplane.gateway.models import Gateway
from controlplane.metrics.selectors import minutes_of
from controlplane.metrics.stored import merged, value
from controlplane.metrics.types import Scope
from controlplane.nodes.selectors import node_age_s, node_disks, node_list
from controlplane.objectives import Burn, Speed

Facts = Callable[[Settings, datetime], Iterator[Observation]]
QUEUE_S: Final = 300.0
DAY_S: Final = 86_400.0
# What nodes report of themselves: kilobytes of each, of which the rules look at three numbers.
LONG_OF_NODES: Final = ("info", "labels")


def _objectives(speed: Speed, rule: Settings, now: datetime) -> Iterator[Observation]:
    rows = ObjectiveRow.objects.select_related("endpoint").order_by("endpoint_id", "name")
    by_endpoint: dict[int, list[ObjectiveRow]] = {}
    for row in rows:
        by_endpoint.setdefault(row.endpoint_id, []).append(row)
    for mine in by_endpoint.values():
        endpoint = mine[0].endpoint
        subject = f"endpoint/{endpoint.name}"
        limit = rule.limit(subject, endpoint.project_name)
        read = slices_read(endpoint, LONGEST_BURN_S, now)
        for row in mine:
            found = objective_status(objective_of(row), read, int(limit.value))
            burns = [one for one in found.burns if one.pair.speed == speed]
            worst = max(burns, key=lambda one: (bool(one.burning), one.long_rate or 0.0))
            yield Observation(
                rule=rule.rule.name,
                subject=subject,
                limit=limit.value,
                part=row.name,
                project=endpoint.project_name,
                value=worst.long_rate,
                burns=any(one.burning for one in burns),
                untold=found.told,
                summary=_burn_text(row, worst),
            )


def _burn_text(row: ObjectiveRow, one: Burn) -> str:
    rates = " and ".join(
        f"{rate:.3g} over {_span(width)}"
        for rate, width in ((one.long_rate, one.pair.long_s), (one.short_rate, one.pair.short_s))
        if rate is not None
    )
    what = f"within {row.threshold_ms:g} ms" if row.threshold_ms is not None else "without a 5xx"
    return (
        f"{row.name} promises {row.target_percent:g} % {what}: its burn rate is "
        f"{rates or 'not known'}, {one.pair.factor:g} is the limit."
    )


def _span(seconds: float) -> str:
    if seconds < 3600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h" if seconds < DAY_S else f"{seconds / DAY_S:g} days"


def fast_burn(rule: Settings, now: datetime) -> Iterator[Observation]:
    return _objectives(Speed.FAST, rule, now)


def slow_burn(rule: Settings, now: datetime) -> Iterator[Observation]:
    return _objectives(Speed.SLOW, rule, now)


def unavailable(rule: Settings, now: datetime) -> Iterator[Observation]:
    del now
    for endpoint in endpoint_list():
        shown = endpoint_shown(endpoint, {})
        down = shown["serving_state"] == ServingState.UNAVAILABLE
        ready = sum(
            replica.state == ReplicaState.READY and replica.desired == Desired.RUNNING
            for deployment in endpoint.deployments.all()
            if endpoint.traffic.get(deployment.name)
            for replica in deployment.replicas.all()
        )
        with_traffic = ", ".join(name for name, share in endpoint.traffic.items() if share)
        yield Observation(
            rule=rule.rule.name,
            subject=f"endpoint/{endpoint.name}",
            project=endpoint.project_name,
            value=float(ready),
            limit=rule.threshold,
            burns=down,
            summary=f"No replica of {with_traffic or 'it'} is ready: {endpoint.name} answers "
            "nobody.",
        )


def queue(rule: Settings, now: datetime) -> Iterator[Observation]:
    deployments = list(Deployment.objects.select_related("endpoint").order_by("pk"))
    scopes = {row.pk: Scope("deployment", row.endpoint.name, row.name).key for row in deployments}
    at = now.timestamp()
    kept = minutes_of(scopes.values(), at - QUEUE_S, at)
    for row in deployments:
        found = kept.get(scopes[row.pk], [])
        waited_us = value(merged(found), "queue_us") if found else None
        # sampled and not asked: nobody waits
        waited_ms = (waited_us or 0.0) / 1000.0 if found else None
        subject = f"endpoint/{row.endpoint.name}"
        limit = rule.limit(subject, row.endpoint.project_name)
        yield Observation(
            rule=rule.rule.name,
            subject=subject,
            limit=limit.value,
            part=row.name,
            project=row.endpoint.project_name,
            value=waited_ms,
            untold="" if found or not row.instance_count else NOT_SAMPLED,
            burns=None if found or row.instance_count else False,
            summary=f"Requests to {row.name} waited {waited_ms or 0:.0f} ms in the mean of the "
            f"last five minutes; {limit.value:g} ms {limit.told}.",
        )


def drift(rule: Settings, now: datetime) -> Iterator[Observation]:
    """By the last look of ``capture``, which takes a while and is made every few minutes."""
    del now
    rows = CaptureBaseline.objects.select_related("deployment__endpoint").order_by("pk")
    for row in rows.defer("content").filter(looked_at__isnull=False):
        deployment = row.deployment
        subject, project = (
            f"endpoint/{deployment.endpoint.name}",
            deployment.endpoint.project_name,
        )
        limit = rule.limit(subject, project)
        yield Observation(
            rule=rule.rule.name,
            subject=subject,
            limit=limit.value,
            part=deployment.name,
            project=project,
            value=row.worst_psi,
            untold=f"Nothing can be compared: {row.told}." if row.worst_psi is None else "",
            summary=f"{row.worst_feature} of {deployment.name} has moved from its baseline in the "
            f"last {row.window_hours} h: its population stability index is "
            f"{row.worst_psi or 0:.2f}, {limit.value:g} {limit.told}.",
        )


def nodes(rule: Settings, now: datetime) -> Iterator[Observation]:
    for node in node_list().defer(*LONG_OF_NODES):
        age_s = node_age_s(node, now)
        if age_s is not None:
            yield _silence(rule, f"node/{node.name}", "the agent", age_s)


def gateways(rule: Settings, now: datetime) -> Iterator[Observation]:
    for row in Gateway.objects.filter(last_seen_at__isnull=False).order_by("name"):
        if row.last_seen_at is not None:
            age_s = max(0.0, (now - row.last_seen_at).total_seconds())
            yield _silence(rule, f"gateway/{row.name}", "the gateway's agent", age_s)


def _silence(rule: Settings, subject: str, who: str, age_s: float) -> Observation:
    limit = rule.limit(subject)
    summary = f"Nothing was heard of {who} for {age_s:.0f} s; {limit.value:g} s {limit.told}."
    return Observation(
        rule=rule.rule.name, subject=subject, value=age_s, limit=limit.value, summary=summary
    )


def disks(rule: Settings, now: datetime) -> Iterator[Observation]:
    for disk in node_disks(now):
        if disk.total_bytes:
            told = "Its node is silent." if disk.silent else ""
            yield _disk(rule, f"node/{disk.node}", "", disk.free_bytes, disk.total_bytes, told)
    seen: set[int] = set()
    for folder in (settings.SHOAL_BLOB_DIR, settings.SHOAL_HOME):
        path = Path(folder)
        if path.exists() and (device := path.stat().st_dev) not in seen:
            seen.add(device)
            usage = shutil.disk_usage(path)
            yield _disk(rule, INSTALLATION, str(path), usage.free, usage.total, "")


def _disk(
    rule: Settings, subject: str, part: str, free: float, total: float, untold: str
) -> Observation:
    used, limit = 100.0 * (total - free) / total, rule.limit(subject)
    return Observation(
        rule=rule.rule.name,
        subject=subject,
        limit=limit.value,
        part=part,
        value=used,
        untold=untold,
        summary=f"{used:.1f} % of the disk is used, {free / 2**30:.1f} GiB are free; "
        f"{limit.value:g} % {limit.told}.",
    )


def certificates(rule: Settings, now: datetime) -> Iterator[Observation]:
    for row in Gateway.objects.order_by("name"):
        ends = {"of its agent": row.certificate_ends_at if row.certified_at else None}
        ends["that clients see"] = row.served_ends_at
        for part, ends_at in ends.items():
            if ends_at is not None:
                yield _certificate(rule, f"gateway/{row.name}", part, ends_at, now)
    for node in node_list().defer(*LONG_OF_NODES):
        if node.certified_at and node.certificate_ends_at:
            yield _certificate(rule, f"node/{node.name}", "of its agent",
                               node.certificate_ends_at, now)  # fmt: skip
    for one in authority.trusted(now):
        # one that is about to be followed by another need not be looked after
        if one.signs:
            ends_at = one.certificate.not_valid_after_utc
            # of those that are supplied several may sign
            part = f"of the endpoints' authority {one.sha256[:8]}"
            yield _certificate(rule, INSTALLATION, part, ends_at, now)


def _certificate(
    rule: Settings, subject: str, part: str, ends_at: datetime, now: datetime
) -> Observation:
    days = (ends_at - now).total_seconds() / DAY_S
    word, limit = "ends" if days > 0 else "ended", rule.limit(subject)
    return Observation(
        rule=rule.rule.name,
        subject=subject,
        limit=limit.value,
        part=part,
        value=days,
        summary=f"The certificate {part} {word} on {ends_at.date().isoformat()}: {days:.1f} days "
        f"are left, {limit.value:g} {limit.told}.",
    )


# Beside these there is `replica-restarting`, which keeps marks: services.restarts.
FACTS: Final[Mapping[str, Facts]] = {
    "objective-fast-burn": fast_burn,
    "objective-slow-burn": slow_burn,
    "endpoint-unavailable": unavailable,
    "queue-slow": queue,
    "input-drift": drift,
    "node-silent": nodes,
    "gateway-silent": gateways,
    "disk-nearly-full": disks,
    "certificate-ends": certificates,
}

"""What nodes report and gateways confirm; then whatever waits for it moves on."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors.sampling import sampling_s
from controlplane.deployments.services.observations import replicas_observe
from controlplane.deployments.services.replicas import retirements_end
from controlplane.deployments.services.sweeps import sweeps_observe
from controlplane.deployments.services.traffic_changes import traffic_change_routed
from controlplane.deployments.services.trials import trials_observe
from controlplane.deployments.services.tunings import tunings_observe
from controlplane.deployments.types import DeploymentState, Desired
from controlplane.nodes.claims import MOST_SHOWN, Violation
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import cadence_now, desired_generation, drains_pending
from controlplane.operations.models import Operation
from controlplane.operations.selectors import operations_active
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.draining import drains_advance
from controlplane.operations.services.tick import deployment_upkeep
from wire.messages import NodeReport, ReportReply


def node_report(
    *, node: Node, report: NodeReport, now: datetime, violations: Sequence[Violation] = ()
) -> ReportReply:
    """Take in a heartbeat with observed replicas. The reply tells the node what to look at next.

    ``violations``: what of the report was changed before, because it cannot be so.
    """
    pace = cadence_now()
    # why now: it keeps what it is told from here on, and its silence is measured by that
    told_s = max(report.node.heartbeat_interval_s, pace.report_s)
    report = dataclasses.replace(
        report, node=dataclasses.replace(report.node, heartbeat_interval_s=told_s)
    )
    rows, touched, violations = replicas_observe(node, report, now, violations)
    ours = {row.pk for row in rows}
    others = tuple(o for o in report.replicas if o.replica_id not in ours)
    trials_observe(node, others, now)
    tunings_observe(node, others, report.loads, now)
    sweeps_observe(node, report.loads, now)
    if touched:
        changed = [row.deployment for row in rows if row.deployment_id in touched]
        names = {deployment.endpoint.name for deployment in changed}
        for operation in sorted(operations_active().filter(endpoint__in=names), key=_by_endpoint):
            operation_advance(operation, now=now)
        settled = Deployment.objects.filter(
            pk__in=touched, provisioning_state=DeploymentState.SUCCEEDED
        )
        for deployment_id in list(settled.values_list("pk", flat=True)):
            deployment_upkeep(deployment_id=deployment_id, now=now)
        if drains_pending():
            drains_advance(now=now)
    running = {row.deployment.endpoint.name for row in rows if row.desired == Desired.RUNNING}
    return ReportReply(
        desired_generation=desired_generation(node),
        sample_interval_s=sampling_s(running, pace),
        poll_interval_s=pace.poll_s,
        heartbeat_interval_s=pace.report_s,
        refused=tuple(str(violation) for violation in violations[:MOST_SHOWN]),
    )


def _by_endpoint(operation: Operation) -> str:
    return operation.endpoint


def endpoint_advance(*, name: str, now: datetime) -> None:
    """Move on what is under way at this endpoint."""
    for operation in operations_active(name):
        operation_advance(operation, now=now)


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOutPart:
    """A part of an endpoint that a gateway does not route; see ``wire.messages.LeftOut``."""

    gateway: str
    generation: int  # of the endpoint, in what that gateway applied
    endpoint: str
    reason: str
    deployment: str = ""
    address: str = ""
    waits: bool = False

    @property
    def unconfirmed(self) -> bool:
        """Of a replica everything else is routed, so that others need not wait for it."""
        return self.waits or not self.deployment

    @property
    def text(self) -> str:
        what = f"deployment {self.deployment}" if self.deployment else f"endpoint {self.endpoint}"
        if self.address:
            what = f"the replica at {self.address} of {what}"
        return f"Gateway {self.gateway} leaves out {what}: {self.reason}"


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayFacts:
    """One that serves, as far as is known: nobody has said that it is gone."""

    name: str
    last_seen_at: datetime
    silent: bool
    generations: Mapping[str, int]  # endpoint -> what it applied last


def gateway_confirmed(
    *,
    generation_by_endpoint: Mapping[str, int],
    left_out: Mapping[str, Sequence[LeftOutPart]] | None = None,
    gateways: Sequence[GatewayFacts] = (),
) -> None:
    """Every live gateway routes at least these generations (``RoutedEndpoint.generation``), but
    for the parts in ``left_out``. ``gateways``: all of them, the silent ones too.

    Called with each gateway report; numbers not above those confirmed before change nothing.
    """
    now = timezone.now()
    left_out = left_out or {}
    for endpoint in _to_confirm(left_out, gateways):
        # why first: what follows must never be confirmed without those that have not
        told = _unconfirmed_set(endpoint, gateways)
        moved = 0
        if endpoint.name in generation_by_endpoint:
            parts = list(left_out.get(endpoint.name, []))
            told = _left_out_set(endpoint, parts) or told
            confirmed = min(generation_by_endpoint[endpoint.name], endpoint.generation)
            if not any(part.unconfirmed for part in parts):
                moved = Endpoint.objects.filter(
                    pk=endpoint.pk, confirmed_generation__lt=confirmed
                ).update(confirmed_generation=confirmed)
                if moved:
                    traffic_change_routed(endpoint.pk, confirmed, now)
        if moved:
            retirements_end(now)
        if moved or told:
            endpoint_advance(name=endpoint.name, now=now)


def _to_confirm(
    left_out: Mapping[str, Sequence[LeftOutPart]], gateways: Sequence[GatewayFacts]
) -> QuerySet[Endpoint]:
    """Those of which a report may change anything: most are confirmed, and nothing is left out."""
    if any(gateway.silent for gateway in gateways):
        return Endpoint.objects.all()  # it may have gone back to less than it had confirmed
    open_ones = Q(confirmed_generation__lt=F("generation")) | ~Q(unconfirmed=[])
    return Endpoint.objects.filter(open_ones | ~Q(left_out=[]) | Q(name__in=left_out))


def unconfirmed_rows(
    generation: int,
    before: Sequence[Mapping[str, str]],
    applied: Sequence[tuple[GatewayFacts, int]],
) -> list[dict[str, str]]:
    """Who has not confirmed ``generation`` and is silent, or was so and has not caught up.

    ``applied``: each gateway with the generation that it routes of this endpoint, 0 for none.
    """
    known = {row["gateway"]: dict(row) for row in before}
    rows = []
    for gateway, its in applied:
        told = {"gateway": gateway.name, "silent_since": gateway.last_seen_at.isoformat()}
        if its < generation and gateway.silent:
            rows.append(told)
        elif its < generation and gateway.name in known:
            rows.append(known[gateway.name])
    return rows


@transaction.atomic
def _unconfirmed_set(endpoint: Endpoint, gateways: Sequence[GatewayFacts]) -> bool:
    """Whether that is new. An event for each gateway that is newly missed."""
    applied = [(gateway, gateway.generations.get(endpoint.name, 0)) for gateway in gateways]
    rows = unconfirmed_rows(endpoint.generation, endpoint.unconfirmed, applied)
    if rows == endpoint.unconfirmed:
        return False
    # why of this generation: whoever read an older one must not say that a newer is confirmed
    same = Endpoint.objects.filter(pk=endpoint.pk, generation=endpoint.generation)
    if not same.update(unconfirmed=rows):
        return False
    before = {row["gateway"] for row in endpoint.unconfirmed}
    for row in rows:
        if row["gateway"] not in before:
            words = (
                f"Gateway {row['gateway']} is silent and has not confirmed the newest traffic and "
                f"keys of {endpoint.name}: it may go on by those of before"
            )
            _record(endpoint, "endpoint.unconfirmed", words, Event.Severity.WARNING)
    if before and not rows:
        words = f"No gateway is known that goes on by former traffic or keys of {endpoint.name}"
        _record(endpoint, "endpoint.confirmed", words, Event.Severity.INFO)
    return True


@transaction.atomic
def _left_out_set(endpoint: Endpoint, parts: Sequence[LeftOutPart]) -> bool:
    """Whether that is new. An event for each part that was not left out before."""
    rows: list[dict[str, Any]] = [
        dataclasses.asdict(part) | {"text": part.text} for part in parts if not part.waits
    ]
    if rows == endpoint.left_out:
        return False
    Endpoint.objects.filter(pk=endpoint.pk).update(left_out=rows)
    before = {row["text"] for row in endpoint.left_out}
    for row in rows:
        if row["text"] not in before:
            _record(endpoint, "endpoint.left_out", row["text"], Event.Severity.ERROR)
    if endpoint.left_out and not rows:
        words = f"Gateways route all of {endpoint.name} again"
        _record(endpoint, "endpoint.taken_in", words, Event.Severity.INFO)
    return True


def _record(endpoint: Endpoint, verb: str, message: str, severity: Event.Severity) -> None:
    events.record(
        actor="system",
        verb=verb,
        subject=f"endpoint/{endpoint.name}",
        message=message,
        severity=severity,
    )

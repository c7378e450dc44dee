"""Writes of gateways: handing out snapshots, taking reports."""

import dataclasses
import logging

from django.db import transaction
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.services import gateway_confirmed
from controlplane.gateway.models import Gateway, Release
from controlplane.gateway.render import render
from controlplane.gateway.selectors import generations_confirmed, parts_left_out
from wire.messages import GatewayReport, GatewaySnapshot

logger = logging.getLogger(__name__)

RELEASES_KEPT = 50


def snapshot_release() -> GatewaySnapshot:
    """What gateways should have now. Remembers which endpoint generations that version holds."""
    view = routing_view()
    snapshot = render(view)
    generations = view.generations()
    known = Release.objects.filter(version=snapshot.version).first()
    if known is None or known.generations != generations:
        _release_remember(snapshot.version, generations)
    return snapshot


def _release_remember(version: str, generations: dict[str, int]) -> None:
    """why also for a known version: a generation may rise without any change that gateways see."""
    with transaction.atomic():
        Release.objects.update_or_create(version=version, defaults={"generations": generations})
        in_use = set(Gateway.objects.values_list("applied_version", flat=True))
        newest = Release.objects.order_by("-updated_at").values_list("version", flat=True)
        kept = in_use | set(newest[:RELEASES_KEPT])
        Release.objects.exclude(version__in=kept).delete()


def gateway_report(report: GatewayReport) -> None:
    """Keep what a gateway said, confirm the generations that every live gateway now routes, and
    tell endpoints what some gateway does not."""
    now = timezone.now()
    with transaction.atomic():
        before = Gateway.objects.filter(name=report.name).first()
        Gateway.objects.update_or_create(
            name=report.name,
            defaults={
                "applied_version": report.applied_version,
                "healthy": report.healthy,
                "error": dataclasses.asdict(report.error) if report.error else None,
                "host_health": report.host_health,
                "left_out": [dataclasses.asdict(part) for part in report.left_out],
                "last_seen_at": now,
            },
        )
        _record_change(before, report)
    gateway_confirmed(
        generation_by_endpoint=generations_confirmed(now), left_out=parts_left_out(now)
    )


def _record_change(before: Gateway | None, report: GatewayReport) -> None:
    was_healthy = before.healthy if before is not None else True
    if was_healthy == report.healthy:
        return
    reason = report.error.message if report.error else "no reason given"
    events.record(
        actor=f"gateway/{report.name}",
        verb="gateway.recovered" if report.healthy else "gateway.failed",
        subject=f"gateway/{report.name}",
        message=(
            f"Gateway {report.name} follows the control plane again."
            if report.healthy
            else f"Gateway {report.name} cannot follow the control plane: {reason}"
        ),
        severity=Event.Severity.INFO if report.healthy else Event.Severity.ERROR,
    )

"""Writes of gateways: handing out snapshots, taking reports, noticing their silence."""

import dataclasses
import hmac
import logging
import re
from datetime import UTC, datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.core import events
from controlplane.core.errors import Conflict, Invalid, NotFound, Unauthenticated
from controlplane.core.models import Event
from controlplane.deployments.selectors import routing_view
from controlplane.gateway import authority as serving
from controlplane.gateway import selectors
from controlplane.gateway.models import Gateway, Release
from controlplane.gateway.render import render
from controlplane.gateway.selectors import (
    ALIVE_FOR,
    gateways_known,
    generations_confirmed,
    parts_left_out,
)
from controlplane.gateway.tls import Source
from controlplane.nodes import authority
from controlplane.nodes.errors import CertificateRequestRefused
from controlplane.operations.services import gateway_confirmed
from wire.messages import CertificateReply, GatewayReport, GatewaySnapshot
from wire.serving_certificates import (
    ServedCertificate,
    ServingCertificateReply,
    ServingCertificateRequest,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """A gateway that calls; ``name`` is that of its certificate, empty while it shows none."""

    name: str


logger = logging.getLogger(__name__)

RELEASES_KEPT = 50
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


class GatewayNameTaken(Conflict):
    code = "GatewayNameTaken"
    tries = (
        "Give this gateway another name (SHOAL_GATEWAY_NAME), or stop the other one and wait for "
        "15 seconds.",
    )


class GatewayNotFound(NotFound):
    code = "GatewayNotFound"
    tries = ("`GET /api/v1/gateways` lists those that have reported.",)


class GatewayAlive(Conflict):
    code = "GatewayAlive"
    tries = ("Stop its agent and its Envoy first, and wait for 15 seconds.",)


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


def gateway_admitted(
    *, authorization: str, certificate: str, enrolling: bool, now: datetime
) -> Caller:
    """Who calls with this header, over a connection that shows this certificate.

    The one gate of the gateways' API. All gateways have one token, so it tells them from others
    and not from one another; names come with certificates. Once some gateway has shown one, the
    token alone opens nothing but the first certificate, except to gateways of the version before:
    as long as one of those still reports. Raises Unauthenticated.
    """
    scheme, _, token = authorization.partition(" ")
    right = hmac.compare_digest(token.encode(), settings.SHOAL_GATEWAY_TOKEN.encode())
    if scheme.lower() != "bearer" or not right:
        raise Unauthenticated("This resource is for gateways: send the gateway token.")
    if certificate:
        kind, _, name = certificate.partition("/")
        if kind != "gateway":
            raise Unauthenticated(f"This resource is for gateways, not for {certificate}.")
        Gateway.objects.filter(name=name, certified_at=None).update(certified_at=now)
        return Caller(name)
    if not (enrolling or selectors.token_is_enough(now)):
        raise Unauthenticated(
            "Gateways of this installation prove themselves by certificates: the token alone is "
            f"good for asking for one. They show theirs at {settings.SHOAL_AGENT_URL}."
        )
    return Caller("")


@transaction.atomic
def gateway_certificate(*, caller: Caller, name: str, csr: str, now: datetime) -> CertificateReply:
    """A certificate for the key of ``csr``, the first for ``name`` or the next one.

    Raises Invalid, GatewayNameTaken: only who has shown a certificate of that name gets another
    while that gateway is alive.
    """
    if not NAME.fullmatch(name):
        raise Invalid(
            f"name={name!r:.120}: expected 1 to 100 letters, digits, dots, - and _.",
            code="GatewayNameRefused",
            hints=("Give the gateway another name (SHOAL_GATEWAY_NAME).",),
        )
    if caller.name not in ("", name):
        raise Unauthenticated(f"name={name!r}: expected {caller.name}, as in your certificate.")
    row = Gateway.objects.select_for_update().filter(name=name).first()
    proved = row is not None and row.certified_at is not None
    if row is not None and proved and not caller.name and selectors.is_alive(row, now):
        raise GatewayNameTaken(f"A gateway called {name} proves itself by a certificate already.")
    try:
        answer = authority.client_certificate(f"gateway/{name}", csr, now)
    except ValueError as error:
        raise CertificateRequestRefused(f"csr: {error}.") from error
    ends_at = authority.ends_at(answer)
    Gateway.objects.update_or_create(name=name, defaults={"certificate_ends_at": ends_at})
    if not caller.name:
        events.record(
            actor=f"gateway/{name}",
            verb="gateway.enrolled",
            subject=f"gateway/{name}",
            message=f"A gateway called {name} showed the gateway token and got a certificate",
            severity=Event.Severity.WARNING if proved else Event.Severity.INFO,
        )
    return answer


def gateway_report(report: GatewayReport, *, caller: Caller) -> None:
    """Keep what a gateway said, confirm the generations that every live gateway now routes, and
    tell endpoints what some gateway does not. Raises Unauthenticated: it is not who it says."""
    now = timezone.now()
    if caller.name not in ("", report.name):
        raise Unauthenticated(f"name={report.name!r}: expected {caller.name}.")
    with transaction.atomic():
        before = Gateway.objects.filter(name=report.name).first()
        if not caller.name and (before is None or before.certified_at) and selectors.some_proved():
            raise Unauthenticated(
                f"name={report.name!r}: a gateway of this name shows a certificate, or is new."
            )
        said = {
            "applied_version": report.applied_version,
            "healthy": report.healthy,
            "error": dataclasses.asdict(report.error) if report.error else None,
            "host_health": report.host_health,
            "left_out": [dataclasses.asdict(part) for part in report.left_out],
            "last_seen_at": now,
            "silent": False,
            **_served(report.served),
        }
        # why first: of a known one, each few seconds, it is all, and the other reads it once more
        if not Gateway.objects.filter(name=report.name).update(**said, updated_at=now):
            Gateway.objects.update_or_create(name=report.name, defaults=said)
        _record_change(before, report)
    _endpoints_told(now)


def _served(told: ServedCertificate | None) -> dict[str, object]:
    if told is None or told.source not in tuple(Source):
        return {"served_source": "", "served_ends_at": None}
    ends_at = datetime.fromtimestamp(told.ends_at, UTC)
    return {"served_source": told.source, "served_ends_at": ends_at}


def serving_certificate(
    *, caller: Caller, request: ServingCertificateRequest, now: datetime
) -> ServingCertificateReply:
    """What the Envoy of this gateway is to show to clients. Which names it serves is for the
    gateway to say, and on record. Raises CertificateRequestRefused."""
    try:
        reply, names = serving.serving_certificate(request.csr, request.names, now)
    except ValueError as error:
        raise CertificateRequestRefused(f"{error}.") from error
    who = f"gateway/{caller.name}" if caller.name else "gateway"
    events.record(
        actor=who,
        verb="gateway.certificate_signed",
        subject=who,
        message=f"Envoy of {who} may show a certificate for {', '.join(names)}",
        data={"names": names},
    )
    serving.file_write(now)
    return reply


def _endpoints_told(now: datetime) -> None:
    """What of them is confirmed, left out, and not known to be confirmed."""
    gateway_confirmed(
        generation_by_endpoint=generations_confirmed(now),
        left_out=parts_left_out(now),
        gateways=gateways_known(now),
    )


def gateways_watch(*, now: datetime) -> None:
    """Notice who fell silent. Also tells endpoints, for when no gateway reports any more."""
    silent = Gateway.objects.filter(last_seen_at__lt=now - ALIVE_FOR)
    for gateway in silent.filter(silent=False):
        _silence_notice(gateway, now)
    if silent.exists():
        _endpoints_told(now)


@transaction.atomic
def _silence_notice(gateway: Gateway, now: datetime) -> None:
    # why last_seen_at in the filter: a report that came in meanwhile wins
    same = Gateway.objects.filter(pk=gateway.pk, silent=False, last_seen_at=gateway.last_seen_at)
    if gateway.last_seen_at is None or not same.update(silent=True):
        return
    age_s = (now - gateway.last_seen_at).total_seconds()
    events.record(
        actor="system",
        verb="gateway.went_silent",
        subject=f"gateway/{gateway.name}",
        message=(
            f"Gateway {gateway.name} is silent: last reported {age_s:.0f} s ago. "
            "Its Envoy may serve on, by the traffic and keys that it has"
        ),
        severity=Event.Severity.ERROR,
    )


def gateway_remove(*, name: str, actor: str, now: datetime) -> None:
    """Somebody says that it is gone: nothing waits for it, and nothing is said of it any more.

    Raises GatewayNotFound, and GatewayAlive while it reports.
    """
    with transaction.atomic():
        row = Gateway.objects.select_for_update().filter(name=name).first()
        if row is None:
            raise GatewayNotFound(f"There is no gateway {name!r}.")
        if selectors.is_alive(row, now):
            raise GatewayAlive(f"Gateway {name} reports: it is not gone.")
        row.delete()
        events.record(
            actor=actor,
            verb="gateway.removed",
            subject=f"gateway/{name}",
            message=f"{actor} removed gateway {name}: it is said to serve no more",
            severity=Event.Severity.WARNING,
        )
    _endpoints_told(now)


def _record_change(before: Gateway | None, report: GatewayReport) -> None:
    if before is not None and before.silent:
        events.record(
            actor=f"gateway/{report.name}",
            verb="gateway.returned",
            subject=f"gateway/{report.name}",
            message=f"Gateway {report.name} reports again",
        )
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


def gateway_leave(*, caller: Caller) -> None:
    """It says itself that its Envoy has ended for good: nothing waits for it any more.

    Raises Unauthenticated: only a certificate says who it is.
    """
    if not caller.name:
        raise Unauthenticated("Only a gateway that shows its certificate can leave.")
    with transaction.atomic():
        Gateway.objects.filter(name=caller.name).delete()
        events.record(
            actor=f"gateway/{caller.name}",
            verb="gateway.left",
            subject=f"gateway/{caller.name}",
            message=f"Gateway {caller.name} is gone: its Envoy has ended",
        )
    _endpoints_told(timezone.now())

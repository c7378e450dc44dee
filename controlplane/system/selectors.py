"""The whole installation, part by part."""

from datetime import datetime

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from controlplane.accounts.selectors import events_shown
from controlplane.core.models import Event
from controlplane.gateway.models import Gateway
from controlplane.gateway.selectors import ALIVE_FOR
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_age_s, node_list, node_state
from controlplane.system import diagnosis, probes
from controlplane.system.diagnosis import Peer, PulseSeen
from controlplane.system.models import Pulse
from controlplane.system.types import QUEUES, Part

STARTED_AT = timezone.now()
DATABASES = {"default": "Main database", "metrics": "Metrics database"}


def system_parts(now: datetime) -> list[Part]:
    """Every part, in the order of a request's road. Never raises for a part that is down."""
    databases = {name: probes.database(alias) for alias, name in DATABASES.items()}
    nodes = [] if databases["Main database"].error else list(node_list())
    broker = probes.broker(list(QUEUES))
    depths = broker.depths or {}
    pulses = {} if databases["Main database"].error else _pulses(now)
    seen = [pulses.get(queue) for queue in QUEUES]
    parts = [diagnosis.web(settings.SHOAL_VERSION, STARTED_AT, now)]
    parts += [diagnosis.database(name, look) for name, look in databases.items()]
    parts.append(diagnosis.broker(broker))
    parts.append(diagnosis.beat(seen))
    parts += [diagnosis.worker(queue, pulses.get(queue), depths.get(queue)) for queue in QUEUES]
    if not databases["Main database"].error:
        parts += [diagnosis.peer("gateway", found, now) for found in _gateways(now)]
    parts += [diagnosis.peer("agent", _agent(node, now), now) for node in nodes]
    if not databases["Main database"].error:
        parts += [diagnosis.certificate(look, now) for look in probes.authorities(now)]
    for name, path in (
        ("Model files", settings.SHOAL_BLOB_DIR),
        ("Data", settings.SHOAL_HOME),
    ):
        look = probes.disk(path)
        if look is not None:
            parts.append(diagnosis.disk(name, look))
    return parts


def newest_event(*, people: bool) -> Event | None:
    """That a reader may see. None on an empty log, and while the database does not answer."""
    try:
        return events_shown(people=people).order_by("-seq").first()
    except DatabaseError:
        return None


def _pulses(now: datetime) -> dict[str, PulseSeen]:
    return {
        row.queue: PulseSeen(max(0.0, (now - row.at).total_seconds()), row.waited_s, row.worker)
        for row in Pulse.objects.all()
    }


def _gateways(now: datetime) -> list[Peer]:
    found = []
    for gateway in Gateway.objects.order_by("name"):
        age_s = (now - gateway.last_seen_at).total_seconds() if gateway.last_seen_at else None
        alive = age_s is not None and age_s <= ALIVE_FOR.total_seconds()
        message = str((gateway.error or {}).get("message", "")) if gateway.error else ""
        error = message or ("" if gateway.healthy else "Envoy does not answer")
        state = "online" if alive else "offline"
        version = gateway.applied_version[:12]
        ends_at = gateway.certificate_ends_at if gateway.certified_at else None
        found.append(
            Peer(
                gateway.name,
                age_s,
                state,
                version,
                0,
                error,
                ends_at,
                gateway.served_source,
                gateway.served_ends_at,
            )
        )
    return found


def _agent(node: Node, now: datetime) -> Peer:
    return Peer(
        name=node.name,
        age_s=node_age_s(node, now),
        state=node_state(node, now),
        version=str(node.info.get("agent_version", "")),
        behind=max(0, node.desired_generation - node.observed_generation),
        certificate_ends_at=node.certificate_ends_at if node.certified_at else None,
    )

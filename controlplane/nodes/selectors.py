"""Reads of nodes."""

import hmac
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from django.conf import settings
from django.db.models import F, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from controlplane.nodes import slowness
from controlplane.nodes.errors import JoinTokenNotFound, NodeNotFound
from controlplane.nodes.models import CachedBlob, JoinToken, Node
from controlplane.nodes.states import NodeState
from controlplane.nodes.types import (
    CERTIFICATE_SHORT,
    CLOCK_SKEW_S,
    LIVENESS,
    LONGEST_S,
    SHORTEST_S,
    Cadence,
    Condition,
    Liveness,
    LivenessRule,
    cadence,
    credential_node_id,
    liveness,
    out_of_reach,
    secret_hash,
)
from wire.messages import WIRE_VERSION

FEW = 16  # rows that are read at a time where the first mostly answers


def node_list() -> QuerySet[Node]:
    return Node.objects.order_by("name")


NODE_STATUSES: Final = ("online", "closed", "lost")


def nodes_matching(q: str = "", status: str = "", names: Sequence[str] = ()) -> QuerySet[Node]:
    """Those of ``names``, or all without any, whose name, address, ``label=value`` or GPUs' names
    contain ``q``, without regard to case, and that are ``status``: online and open, online and
    closed to new replicas, or not heard of by the last look, which is seconds old."""
    rows = node_list().filter(name__in=names) if names else node_list()
    if status == "lost":
        rows = rows.exclude(state=NodeState.ONLINE)
    elif status:
        rows = rows.filter(state=NodeState.ONLINE, cordoned=status == "closed")
    if not q:
        return rows
    # JSON as text, whose colons have a space behind them in one database and none in the other
    text, (label, equals, value) = re.escape(q), q.partition("=")
    labels = f'{re.escape(label)}": ?"{re.escape(value)}' if equals else text
    return rows.annotate(
        set_labels=Cast("labels", TextField()),
        own_labels=KeyTextTransform("labels", "info"),
        gpus=KeyTextTransform("gpus", "info"),
    ).filter(
        Q(name__icontains=q)
        | Q(info__address__icontains=q)
        | Q(set_labels__iregex=labels)
        | Q(own_labels__iregex=labels)
        | Q(gpus__iregex=rf'"name": ?"[^"]*{text}')
    )


def labels_of(node: Node) -> dict[str, str]:
    """What the agent says of itself, and what was set here, which wins."""
    return {**dict(node.info.get("labels") or {}), **node.labels}


def node_get(name: str) -> Node:
    """Raises NodeNotFound."""
    node = Node.objects.filter(name=name).first()
    if node is None:
        raise NodeNotFound(f"There is no node called {name}.")
    return node


def cached_blob_list(node: Node) -> QuerySet[CachedBlob]:
    return CachedBlob.objects.filter(node=node)


def join_token_list() -> QuerySet[JoinToken]:
    return JoinToken.objects.select_related("node")


def join_token_of(clear: str) -> JoinToken | None:
    return join_token_list().filter(token_hash=secret_hash(clear)).first()


def join_token_get(token_id: int) -> JoinToken:
    """Raises JoinTokenNotFound."""
    row = join_token_list().filter(pk=token_id).first()
    if row is None:
        raise JoinTokenNotFound("There is no such join token.")
    return row


def node_for_credential(credential: str) -> Node | None:
    """The node that this credential proves; None when it proves nothing."""
    node_id = credential_node_id(credential)
    node = Node.objects.filter(pk=node_id).first() if node_id else None
    if node is None or not hmac.compare_digest(node.credential_hash, secret_hash(credential)):
        return None
    return node


def credential_hashes() -> dict[str, str]:
    """By node id: what ``node_for_credential`` compares with."""
    return dict(Node.objects.values_list("id", "credential_hash"))


def desired_generation(node: Node) -> int:
    """As it is in the row now, whatever was read before."""
    return Node.objects.values_list("desired_generation", flat=True).get(pk=node.pk)


def node_age_s(node: Node, now: datetime) -> float | None:
    """Seconds since the last report; None when there was none."""
    if node.last_seen_at is None:
        return None
    return max(0.0, (now - node.last_seen_at).total_seconds())


def node_state(node: Node, now: datetime) -> Liveness:
    """By age alone, so that it is right even while the job that writes states is late."""
    return liveness_of(node).state(node_age_s(node, now))


class NodeDisk(NamedTuple):
    """Of where a node keeps models, by its last report; zeros where it did not say."""

    node: str
    total_bytes: float
    free_bytes: float
    silent: bool


def node_disks(now: datetime) -> Iterator[NodeDisk]:
    """Of all nodes, without the rest of what they report, which is kilobytes of each."""
    columns = ("disk_total_bytes", "disk_free_bytes", "heartbeat_interval_s")
    rows = node_list().values_list("name", "last_seen_at", *(f"info__{one}" for one in columns))
    for name, seen_at, total, free, interval_s in rows:
        age_s = None if seen_at is None else max(0.0, (now - seen_at).total_seconds())
        silent = liveness(float(interval_s or SHORTEST_S)).state(age_s) != "online"
        yield NodeDisk(name, float(total or 0), float(free or 0), silent)


def node_is_late(node: Node, now: datetime) -> bool:
    """Whether its next report is overdue: still online, but it may have died since the last one."""
    age_s = node_age_s(node, now)
    return age_s is None or age_s > liveness_of(node).late_after_s


def liveness_of(node: Node) -> LivenessRule:
    """By the interval at which this node says that it reports."""
    return liveness(float(node.info.get("heartbeat_interval_s") or SHORTEST_S))


def cadence_now() -> Cadence:
    """How often nodes should call, as many as there are, as quick as we are."""
    return cadence(Node.objects.count(), slowness.reports.mean_s)


def clock_skew_s(node: Node) -> float:
    """How far its clock is ahead of ours by its last report; 0 where a slow call may be why."""
    skew = float(node.info.get("clock_skew_s") or 0.0)
    return skew if abs(skew) > CLOCK_SKEW_S else 0.0


def node_conditions(node: Node, now: datetime) -> list[Condition]:
    """What is odd about it, by its last report."""
    found = []
    if skew := clock_skew_s(node):
        off = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'}"
        told = f"Its clock is {off} ours: what it measures and logs is dated by ours."
        found.append(Condition("ClockSkew", told))
    version, wire = node.info.get("agent_version"), node.info.get("wire_version", WIRE_VERSION)
    if version not in (None, settings.SHOAL_VERSION) or wire != WIRE_VERSION:
        found.append(
            Condition(
                "VersionSkew",
                f"Its agent is version {version}, the control plane {settings.SHOAL_VERSION}: one "
                "version apart is supported. Drain it, upgrade it, uncordon it.",
            )
        )
    if node.info.get("disk_pressure"):
        found.append(Condition("DiskPressure", "Its disk is full: it takes no new replicas."))
    if spoiled := int(node.info.get("cache_spoiled") or 0):
        told = (
            f"When it last hashed its cache, {spoiled} file(s) had changed on its disk. They were "
            "put aside and fetched again. Look at the disk (dmesg, smartctl), and at who writes "
            "there; deploy again what was started after the change."
        )
        found.append(Condition("CacheSpoiled", told))
    where, machine = node.info.get("address", ""), node.info.get("boot_id", "")
    if out_of_reach(where, machine, machine_boot_id()):
        told = (
            f"It is another machine, and says that gateways reach its replicas at "
            f"{where}, which is each machine itself. Set SHOAL_NODE_ADDRESS there, "
            "or remove the setting, and start its agent again."
        )
        found.append(Condition("AddressUnreachable", told))
    elif expected := node.info.get("address_refused"):
        told = (
            f"It says that gateways reach its replicas at {where!r}; expected {expected}. They are "
            "told of none. Set SHOAL_NODE_ADDRESS there, and start its agent again."
        )
        found.append(Condition("AddressUnreachable", told))
    if refused := node.info.get("refused"):
        told = f"Not all that it reports is believed: {'; '.join(refused)}."
        found.append(Condition("ClaimRefused", told))
    found += _certificate_conditions(node, now)
    return found


def _certificate_conditions(node: Node, now: datetime) -> list[Condition]:
    ends_at = node.certificate_ends_at
    if ends_at is None:
        return []  # of the version before, which VersionSkew says
    if node.certified_at is None:
        told = (
            "It has a certificate and cannot show it: its credential alone lets it in. Let it "
            f"through to the agents' port, {settings.SHOAL_AGENT_URL}."
        )
        return [Condition("CertificateNotShown", told)]
    if ends_at - now < CERTIFICATE_SHORT:
        told = (
            f"Its certificate ends on {ends_at:%Y-%m-%d at %H:%M} UTC. It should have been renewed "
            "long ago: look into its log. After that day it must join again."
        )
        return [Condition("CertificateEnds", told)]
    return []


@cache
def machine_boot_id() -> str:
    """Of the machine that we run on; empty where the system does not tell."""
    file = Path("/proc/sys/kernel/random/boot_id")
    return file.read_text().strip() if file.exists() else ""


def node_list_behind() -> QuerySet[Node]:
    """Nodes that have not acted on their latest desired state."""
    return Node.objects.filter(observed_generation__lt=F("desired_generation"))


def drains_pending() -> bool:
    """Some node is being emptied and is not empty yet."""
    return Node.objects.filter(drain_deadline_at__isnull=False).exists()


def nodes_heard_since(now: datetime) -> datetime | None:
    """Since when reports have been arriving at all; None when no node is online.

    Silence before that moment says nothing about a node: it may have been ours.
    """
    # Whoever was silent for the longest time that a node may take is not online, whatever it says.
    heard = Node.objects.filter(
        online_since__isnull=False,
        last_seen_at__gte=now - timedelta(seconds=liveness(LONGEST_S).suspect_after_s),
    ).order_by("online_since")
    # why one after another: nearly always the first is online, whatever their number
    for node in heard.only("online_since", "last_seen_at", "info").iterator(chunk_size=FEW):
        if node_state(node, now) == "online":
            return node.online_since
    return None


def nodes_silent(now: datetime) -> QuerySet[Node]:
    """Those that may be anything but online: all others were heard of too short ago."""
    since = now - timedelta(seconds=LIVENESS.suspect_after_s)
    return node_list().filter(Q(last_seen_at__lt=since) | Q(last_seen_at=None))

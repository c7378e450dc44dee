"""Writes of nodes: joining, reports heard, silence noticed, the bell."""

import dataclasses
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.nodes import authority, bells, claims, selectors
from controlplane.nodes.claims import MOST_SHOWN, Complaint, complaints_new
from controlplane.nodes.errors import (
    CertificateRequestRefused,
    JoinTokenRefused,
    NodeNameRefused,
    NodeNameTaken,
    NodeUnknown,
)
from controlplane.nodes.models import CachedBlob, JoinToken, Node
from controlplane.nodes.states import (
    DUTIES,
    NODES,
    DutyCause,
    NodeCause,
    NodeDuty,
    NodeState,
)
from controlplane.nodes.types import (
    JOIN_TOKEN_LIFETIME,
    SHOWN_CHARS,
    certificate_fingerprint,
    credential_new,
    join_token_new,
    secret_hash,
)
from wire.messages import CacheReport, CertificateReply, NodeInfo, RegisterReply, RegisterRequest

MOST_SPOILED: Final = 20  # events of one report
DIGEST: Final = re.compile("[0-9a-f]{64}")


@transaction.atomic
def join_token_create(*, actor: str) -> str:
    """A token that lets one node join within an hour; shown once, only its hash is kept."""
    clear = join_token_new(certificate_fingerprint(authority.authority_pem(timezone.now())))
    JoinToken.objects.create(
        token_hash=secret_hash(clear),
        prefix=clear[:SHOWN_CHARS],
        expires_at=timezone.now() + JOIN_TOKEN_LIFETIME,
        created_by=actor,
    )
    events.record(
        actor=actor,
        verb="join-token.created",
        subject="nodes",
        message=f"{actor} made a token that lets one node join",
        data={"prefix": clear[:SHOWN_CHARS]},
    )
    return clear


@transaction.atomic
def join_token_delete(*, token_id: int, actor: str) -> None:
    """Nobody joins with it any more. Raises JoinTokenNotFound."""
    row = selectors.join_token_get(token_id)
    row.delete()
    events.record(
        actor=actor,
        verb="join-token.deleted",
        subject="nodes",
        message=f"{actor} withdrew a join token",
        data={"prefix": row.prefix},
    )


@transaction.atomic
def node_register(*, request: RegisterRequest, now: datetime) -> RegisterReply:
    """Let a node in. Raises JoinTokenRefused, NodeNameTaken, NodeNameRefused.

    A node that joins again under its own name keeps its id and gets a new credential.
    """
    if expected := claims.name_refused(request.node.name):
        raise NodeNameRefused(f"node.name={request.node.name!r}: expected {expected}.")
    claimed = JoinToken.objects.filter(
        token_hash=secret_hash(request.token), used_at__isnull=True, expires_at__gt=now
    ).update(used_at=now)
    if claimed != 1:
        raise JoinTokenRefused(
            "This join token is unknown, was used, or has expired.",
            hints=("Make a new one: Nodes, Add node.",),
        )
    node = Node.objects.filter(name=request.node.name).first()
    if node is not None and _is_another_agent(node, request.node, now):
        age_s, rule = selectors.node_age_s(node, now) or 0.0, selectors.liveness_of(node)
        raise NodeNameTaken(
            f"The name {node.name} is taken: an agent under it reported {age_s:.0f} s ago"
            f" from {node.info.get('address') or 'an unknown address'}.",
            hints=(
                "Give this node another name with SHOAL_NODE_NAME.",
                f"If it is the same node without its old folder: stop the old agent; it may join "
                f"once that one has been silent for {rule.offline_after_s:.0f} s. The agent tries "
                "again by itself.",
            ),
        )
    node = node or Node(id=secrets.token_hex(8), name=request.node.name)
    credential = credential_new(node.id)
    node.credential_hash = secret_hash(credential)
    refused = claims.address_refused(node, request.node, now)
    node.info = {**dataclasses.asdict(request.node), "address_refused": refused}
    node.last_seen_at = node.online_since = now
    node.certificate_ends_at = node.certified_at = None  # those of before belong to no credential
    node.save()
    NODES.move(node, NodeCause.JOIN)
    JoinToken.objects.filter(token_hash=secret_hash(request.token)).update(node=node)
    events.record(
        actor=f"node/{node.name}",
        verb="node.joined",
        subject=f"node/{node.name}",
        message=f"Node {node.name} joined",
        data={"node_id": node.id, "agent_version": request.node.agent_version},
    )
    return RegisterReply(
        node_id=node.id,
        credential=credential,
        heartbeat_interval_s=selectors.cadence_now().report_s,
    )


def node_admitted(*, authorization: str, certificate: str, now: datetime) -> Node:
    """The node that calls with this header, over a connection that shows this certificate.

    The one gate of the nodes' doors. ``certificate`` is ``node/<id>``, verified, or empty. A node
    that has shown one is never again let in without, so a stolen credential alone opens nothing.
    Raises NodeUnknown.
    """
    scheme, _, credential = authorization.partition(" ")
    node = selectors.node_for_credential(credential.strip()) if scheme.lower() == "bearer" else None
    if node is None:
        raise NodeUnknown("This node credential is not valid.")
    if certificate:
        if certificate != f"node/{node.id}":
            raise NodeUnknown(
                f"The certificate of this connection is of {certificate}, the credential of node "
                f"{node.name}."
            )
        if node.certified_at is None:
            Node.objects.filter(pk=node.pk, certified_at=None).update(certified_at=now)
    elif node.certified_at is not None:
        raise NodeUnknown(
            f"Node {node.name} has proved itself by a certificate before: its credential alone is "
            f"not enough. Agents show their certificates at {settings.SHOAL_AGENT_URL}."
        )
    return node


def node_certificate(*, node: Node, csr: str, now: datetime) -> CertificateReply:
    """A certificate for the key of ``csr``. Raises CertificateRequestRefused."""
    try:
        answer = authority.client_certificate(f"node/{node.id}", csr, now)
    except ValueError as error:
        raise CertificateRequestRefused(f"csr: {error}.") from error
    Node.objects.filter(pk=node.pk).update(certificate_ends_at=authority.ends_at(answer))
    return answer


def _is_another_agent(node: Node, info: NodeInfo, now: datetime) -> bool:
    """Whether ``info`` comes from elsewhere than ``node``, which is alive.

    A folder has one agent at a time, and a name one folder. Agents of before folders had ids are
    told apart by their machines.
    """
    if selectors.node_state(node, now) == "offline":
        return False
    known = node.info.get("folder_id")
    if known and info.folder_id:
        return bool(known != info.folder_id)
    return bool(node.info.get("boot_id") != info.boot_id)


@transaction.atomic(savepoint=False)
def node_seen(
    *,
    node: Node,
    info: NodeInfo,
    observed_generation: int,
    now: datetime,
    sent_at: float = 0.0,
    complaints: Iterable[Complaint] = (),
    address_refused: str = "",
) -> None:
    """A report arrived; ``sent_at`` is the node's own clock, 0 when it did not say.

    ``complaints``: what of it is not believed. ``address_refused``: see ``claims``.
    """
    complaints = list(complaints)
    new, told = complaints_new(node.info.get("told") or {}, complaints, now)
    skew_s = round(sent_at - now.timestamp(), 1) if sent_at else 0.0
    was_silent = selectors.node_state(node, now) == "offline"  # by its age before this report
    since: dict[str, Any] = {"online_since": now} if was_silent else {}
    NODES.write(
        Node.objects.filter(pk=node.pk),
        NodeCause.REPORT,
        info={
            **dataclasses.asdict(info),
            "clock_skew_s": skew_s,
            "address_refused": address_refused,
            "refused": [str(complaint) for complaint in complaints[:MOST_SHOWN]],
            "told": told,
        },
        observed_generation=observed_generation,
        last_seen_at=now,
        **since,
    )
    if node.state == NodeState.OFFLINE:
        _record(node.name, "node.returned", f"Node {node.name} reports again")
    for complaint in new:
        _record(
            node.name,
            "node.claim_refused",
            f"Node {node.name} is not believed: {complaint}",
            Event.Severity.WARNING,
            {"field": complaint.field, "expected": complaint.expected},
        )


@transaction.atomic
def cache_seen(*, node: Node, report: CacheReport) -> None:
    """What lies in a node's cache now, instead of what did."""
    named = {blob.sha256: blob for blob in report.blobs}
    CachedBlob.objects.filter(node=node).delete()
    CachedBlob.objects.bulk_create(
        [
            CachedBlob(
                node=node,
                sha256=blob.sha256,
                size=blob.size,
                used_at=datetime.fromtimestamp(blob.used_at, UTC),
                in_use=blob.in_use,
            )
            for blob in named.values()
            if DIGEST.fullmatch(blob.sha256)
        ],
        batch_size=500,
    )
    # why cut: each is an event, and a node that lies has any number of them
    for blob in [blob for blob in report.spoiled if DIGEST.fullmatch(blob.sha256)][:MOST_SPOILED]:
        _record(
            node.name,
            "node.blob_spoiled",
            f"Node {node.name} found a cached file changed on its disk ({blob.sha256[:12]}, "
            f"{blob.size} bytes): it was put aside and is fetched again. "
            "What replicas have loaded of it serves on",
            Event.Severity.WARNING,
            {"sha256": blob.sha256, "size": blob.size, "found_at": blob.found_at},
        )


def nodes_expire(*, now: datetime) -> int:
    """Write the states that silence has earned; returns how many changed.

    A clock that was set back makes no silence end: only a report brings a node back.
    """
    changed = 0
    for node in selectors.node_list():
        state = NodeState(selectors.node_state(node, now))
        if NODES.allows(NodeState(node.state), NodeCause.SILENCE, state):
            changed += _node_state_set(node, state, now)
    return changed


@transaction.atomic
def _node_state_set(node: Node, state: NodeState, now: datetime) -> int:
    # why last_seen_at in the filter: a report that came in meanwhile wins
    same = Node.objects.filter(state=node.state, last_seen_at=node.last_seen_at)
    if not NODES.move(node, NodeCause.SILENCE, state, rows=same):
        return 0
    if state == NodeState.OFFLINE:
        age_s = selectors.node_age_s(node, now)
        rule = selectors.liveness_of(node)
        heard = "never reported" if age_s is None else f"last reported {age_s:.0f} s ago"
        _record(
            node.name,
            "node.went_offline",
            f"Node {node.name} is silent: {heard}, offline after {rule.offline_after_s:.0f} s",
            Event.Severity.ERROR,
        )
    return 1


def node_cordon(*, name: str, cordoned: bool, actor: str) -> Node:
    """Keep new replicas away from a node, or let them come again. Raises NodeNotFound."""
    node = selectors.node_get(name)
    if not DUTIES.allows(node.duty, DutyCause.CORDON if cordoned else DutyCause.UNCORDON):
        return node  # it is so already
    with transaction.atomic():
        rows = Node.objects.filter(pk=node.pk, cordoned=not cordoned)
        if rows.update(cordoned=cordoned, drain_started_at=None, drain_deadline_at=None):
            events.record(
                actor=actor,
                verb="node.cordoned" if cordoned else "node.uncordoned",
                subject=f"node/{name}",
                message=f"Node {name} takes {'no' if cordoned else 'again'} new replicas",
            )
    return selectors.node_get(name)


@transaction.atomic
def node_labels_set(*, name: str, labels: dict[str, str], actor: str) -> Node:
    """Replace the labels that placement goes by. Raises NodeNotFound."""
    node = selectors.node_get(name)
    if node.labels != labels:
        Node.objects.filter(pk=node.pk).update(labels=labels)
        events.record(
            actor=actor,
            verb="node.labelled",
            subject=f"node/{name}",
            message=f"{actor} changed the labels of node {name}",
            data={"labels": labels, "before": node.labels},
        )
    return selectors.node_get(name)


@transaction.atomic
def node_drain(*, name: str, deadline_at: datetime, actor: str, now: datetime) -> Node:
    """Cordon it and let what runs there move away until ``deadline_at``. Raises NodeNotFound."""
    node = selectors.node_get(name)
    DUTIES.check(node.duty, DutyCause.DRAIN)
    going_on = node.duty == NodeDuty.DRAINING
    Node.objects.filter(pk=node.pk).update(
        cordoned=True,
        drain_started_at=node.drain_started_at if going_on else now,
        drain_deadline_at=deadline_at,
    )
    if not going_on:
        events.record(
            actor=actor,
            verb="node.drain_started",
            subject=f"node/{name}",
            message=f"Node {name} is drained: what runs there moves away",
            severity=Event.Severity.WARNING,
            data={"deadline_at": deadline_at.isoformat()},
        )
    return selectors.node_get(name)


@transaction.atomic
def node_emptied(*, node: Node, now: datetime) -> None:
    """Nothing is left there: the deadline is taken away, that is how it is known to be empty."""
    if not DUTIES.allows(node.duty, DutyCause.EMPTY):
        return
    # why the moments in the filter: it may have been uncordoned since ``node`` was read
    draining = Node.objects.filter(pk=node.pk, drain_started_at=node.drain_started_at)
    if draining.filter(drain_deadline_at__isnull=False).update(drain_deadline_at=None):
        events.record(
            actor="system",
            verb="node.drained",
            subject=f"node/{node.name}",
            message=f"Node {node.name} is empty",
            data={"seconds": round((now - (node.drain_started_at or now)).total_seconds())},
        )


@transaction.atomic
def node_remove(*, node: Node, actor: str) -> None:
    """Forget a node; its credential stops working. Its replicas must be gone from the rows."""
    node.delete()
    events.record(
        actor=actor,
        verb="node.removed",
        subject=f"node/{node.name}",
        message=f"Node {node.name} was removed",
        severity=Event.Severity.WARNING,
    )


@transaction.atomic
def node_generation_raise(node_ids: Iterable[str]) -> dict[str, int]:
    """The nodes' desired state changed: raise its number and ring their bells on commit.

    Returns node id -> new generation.
    """
    ids = sorted(set(node_ids))
    Node.objects.filter(pk__in=ids).update(desired_generation=F("desired_generation") + 1)
    raised = dict(Node.objects.filter(pk__in=ids).values_list("id", "desired_generation"))
    bells.ring_on_commit(raised)
    return raised


def bells_ring() -> int:
    """Ring again for every node that has not acted yet: a bell may get lost."""
    behind = [node.id for node in selectors.node_list_behind()]
    bells.ring_on_commit(behind)
    return len(behind)


def _record(
    name: str,
    verb: str,
    message: str,
    severity: Event.Severity = Event.Severity.INFO,
    data: dict[str, Any] | None = None,
) -> None:
    events.record(
        actor="system",
        verb=verb,
        subject=f"node/{name}",
        message=message,
        severity=severity,
        data=data,
    )

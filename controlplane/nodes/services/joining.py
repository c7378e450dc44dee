"""How a node joins: tokens, its name, its credential and its certificates."""

import hmac
import secrets
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from controlplane.core import events
from controlplane.nodes import authority, claims, selectors
from controlplane.nodes.errors import (
    CertificateRequestRefused,
    JoinTokenRefused,
    NodeNameRefused,
    NodeNameTaken,
    NodeUnknown,
)
from controlplane.nodes.models import JoinToken, Node
from controlplane.nodes.states import (
    NODES,
    NodeCause,
)
from controlplane.nodes.types import (
    JOIN_TOKEN_LIFETIME,
    SHOWN_CHARS,
    certificate_fingerprint,
    credential_new,
    join_token_new,
    secret_hash,
)
from wire import codec
from wire.messages import CertificateReply, NodeInfo, RegisterReply, RegisterRequest


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
    by_all = _is_token_of_all(request.token)
    claimed = JoinToken.objects.filter(
        token_hash=secret_hash(request.token), used_at__isnull=True, expires_at__gt=now
    ).update(used_at=now)
    if claimed != 1 and not by_all:
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
    node.info = {**codec.as_data(request.node), "address_refused": refused}
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
        data={
            "node_id": node.id,
            "agent_version": request.node.agent_version,
            "by": "SHOAL_NODE_TOKEN" if by_all else "join token",
        },
    )
    return RegisterReply(
        node_id=node.id,
        credential=credential,
        heartbeat_interval_s=selectors.cadence_now().report_s,
    )


def _is_token_of_all(token: str) -> bool:
    """The one that is part of the settings, for fleets whose machines come and go by themselves."""
    known = settings.SHOAL_NODE_TOKEN.encode()
    return bool(known) and hmac.compare_digest(token.encode(), known)


def node_admitted(*, authorization: str, certificate: str, now: datetime) -> Node:
    """The node that calls with this header, over a connection that shows this certificate.

    The one gate of the nodes' API. ``certificate`` is ``node/<id>``, verified, or empty. A node
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

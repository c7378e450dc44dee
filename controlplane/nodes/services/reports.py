"""What nodes report of themselves, and their silence."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from django.db import transaction

from controlplane.core.models import Event
from controlplane.nodes import selectors
from controlplane.nodes.claims import MOST_SHOWN, Violation, violations_new
from controlplane.nodes.models import CachedBlob, Node
from controlplane.nodes.services.records import node_record
from controlplane.nodes.states import (
    NODES,
    NodeCause,
    NodeState,
)
from wire import codec
from wire.messages import CacheReport, NodeInfo

MOST_SPOILED: Final = 20  # events of one report
DIGEST: Final = re.compile("[0-9a-f]{64}")


@transaction.atomic(savepoint=False)
def node_seen(
    *,
    node: Node,
    info: NodeInfo,
    observed_generation: int,
    now: datetime,
    sent_at: float = 0.0,
    violations: Iterable[Violation] = (),
    address_refused: str = "",
) -> None:
    """A report arrived; ``sent_at`` is the node's own clock, 0 when it did not say.

    ``violations``: what of it is not believed. ``address_refused``: see ``claims``.
    """
    violations = list(violations)
    new, told = violations_new(node.info.get("told") or {}, violations, now)
    skew_s = round(sent_at - now.timestamp(), 1) if sent_at else 0.0
    was_silent = selectors.node_state(node, now) == "offline"  # by its age before this report
    since: dict[str, Any] = {"online_since": now} if was_silent else {}
    NODES.write(
        Node.objects.filter(pk=node.pk),
        NodeCause.REPORT,
        info={
            **codec.as_data(info),
            "clock_skew_s": skew_s,
            "address_refused": address_refused,
            "refused": [str(violation) for violation in violations[:MOST_SHOWN]],
            "told": told,
        },
        observed_generation=observed_generation,
        last_seen_at=now,
        **since,
    )
    if node.state == NodeState.OFFLINE:
        node_record(node.name, "node.returned", f"Node {node.name} reports again")
    for violation in new:
        node_record(
            node.name,
            "node.claim_refused",
            f"Node {node.name} is not believed: {violation}",
            Event.Severity.WARNING,
            {"field": violation.field, "expected": violation.expected},
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
        node_record(
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
    for node in selectors.nodes_silent(now).exclude(state=NodeState.OFFLINE):
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
        node_record(
            node.name,
            "node.went_offline",
            f"Node {node.name} is silent: {heard}, offline after {rule.offline_after_s:.0f} s",
            Event.Severity.ERROR,
        )
    return 1

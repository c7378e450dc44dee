"""Whose replica it is: what a node says of replicas counts only for those that are its own."""

from collections.abc import Iterable

from controlplane.core.models import Event
from controlplane.deployments.models import Replica, TryLoad, Tuning
from controlplane.deployments.selectors.trials import LOG_OWNER
from controlplane.nodes.models import Node

Claim = tuple[str, str, str]  # id of a replica or a trial, its endpoint, its deployment


def claims_upheld(node: Node, claims: Iterable[Claim]) -> set[Claim]:
    """Those that are of this node. At most four queries, however many there are."""
    claimed = set(claims)
    trials = {claim for claim in claimed if claim[1] == LOG_OWNER}
    upheld = _trials_of(node, trials) if trials else set()
    rows = {
        (key, endpoint, deployment): node_id
        for key, endpoint, deployment, node_id in Replica.objects.filter(
            pk__in={claim[0] for claim in claimed - trials}
        ).values_list("pk", "deployment__endpoint__name", "deployment__name", "node_id")
    }
    upheld |= {claim for claim in claimed if rows.get(claim) == node.pk}
    known = {claim[0] for claim in rows}
    gone = {claim for claim in claimed - trials if claim[0] not in known}
    return upheld | (_placed_once(node, gone) if gone else set())


def _trials_of(node: Node, claims: set[Claim]) -> set[Claim]:
    own = TryLoad.objects.filter(pk__in={claim[0] for claim in claims}, node=node)
    tuned = Tuning.objects.filter(pk__in={claim[2] for claim in claims}, node=node)
    tunings = set(tuned.values_list("pk", flat=True))
    upheld = claims & {(key, LOG_OWNER, key) for key in own.values_list("pk", flat=True)}
    return upheld | {
        claim for claim in claims if claim[2] in tunings and claim[0].startswith(f"{claim[2]}-")
    }


def _placed_once(node: Node, claims: set[Claim]) -> set[Claim]:
    """Last words of replicas whose rows are gone: the event log knows where they were placed."""
    placed = Event.objects.filter(
        verb="replica.placed",
        subject__in={f"endpoint/{endpoint}" for _, endpoint, _ in claims},
        data__node=node.pk,
        data__replica__in=sorted({key for key, _, _ in claims}),
    ).values_list("subject", "data")
    return claims & {
        (data["replica"], subject.removeprefix("endpoint/"), data["deployment"])
        for subject, data in placed
    }

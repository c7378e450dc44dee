"""Pure: ranking the nodes that can, and taking the best for each replica in turn."""

from dataclasses import replace
from heapq import heapify, heappop, heapreplace

from controlplane.deployments.placement.checks import QUESTIONS, examine, gpus_for
from controlplane.deployments.placement.values import (
    Need,
    Offer,
    Placement,
    Rank,
    Refusal,
    Verdict,
)
from controlplane.deployments.types import size_text


def refusal(need: Need, offer: Offer) -> str | None:
    """Why this node cannot take a replica, the first reason of all; None when it can."""
    for question in QUESTIONS:
        check = question(need, offer)
        if check is not None and not check.ok:
            return check.detail
    return None


def place(need: Need, offers: list[Offer]) -> Placement:
    """Spread the replicas: first over nodes without a sibling, then over the emptiest ones.

    Deterministic. A node may take several, as long as it has room for each of them.
    """
    left = {offer.node_id: offer for offer in offers}
    reasons = {offer.node_id: refusal(need, offer) for offer in offers}
    before = dict(reasons)
    fit = [(_rank(need, offer), offer.node_id) for offer in offers if not reasons[offer.node_id]]
    heapify(fit)
    assigned, unplaced, ranks = [], [], []
    for ordinal in sorted(need.ordinals):
        if not fit:
            unplaced.append(ordinal)
            continue
        rank, node_id = fit[0]
        ranks.append(rank)
        assigned.append((ordinal, node_id))
        # why of this node alone: what another has to give is as before
        after = left[node_id] = taken(need, left[node_id])
        reasons[node_id] = refusal(need, after)
        if reasons[node_id] is None:
            heapreplace(fit, (_rank(need, after), node_id))
        else:
            heappop(fit)
    # why the reasons at the end: a node may have been filled by this very deployment
    shown = reasons if unplaced else before
    refusals = tuple(
        Refusal(offer.name, reason) for offer in offers if (reason := shown[offer.node_id])
    )
    return Placement(tuple(assigned), tuple(unplaced), refusals, worst=max(ranks, default=None))


def taken(need: Need, offer: Offer) -> Offer:
    """What is left of an offer once a replica has gone there."""
    given = {gpu.uuid for gpu in gpus_for(need.gpu, offer)} if need.gpu.count else set()
    gpus = tuple(
        replace(
            gpu,
            memory_free_bytes=gpu.memory_free_bytes - need.gpu.free_bytes,
            replicas=gpu.replicas + 1,
        )
        if gpu.uuid in given
        else gpu
        for gpu in offer.gpus
    )
    # why only once: replicas of one model share its files on a node
    fetched = 0 if offer.holds_model or offer.expects_model else need.size_bytes
    return replace(
        offer,
        replicas=offer.replicas + 1,
        siblings=offer.siblings + 1,
        twins=offer.twins + 1,
        disk_promised_bytes=offer.disk_promised_bytes + fetched,
        expects_model=True,
        gpus=gpus,
    )


def explain(need: Need, offers: list[Offer]) -> list[Verdict]:
    """Every node with its verdict for one more replica, the best place first."""
    fit = sorted(
        (offer for offer in offers if refusal(need, offer) is None),
        key=lambda offer: _rank(need, offer),
    )
    found = [_welcome(need, offer, rank) for rank, offer in enumerate(fit, start=1)]
    for offer in offers:
        checks = examine(need, offer)
        reasons = [check.detail for check in checks if not check.ok]
        if reasons:
            found.append(Verdict(offer.name, reasons[0], None, "; ".join(reasons), checks))
    return found


def _welcome(need: Need, offer: Offer, rank: int) -> Verdict:
    because = (
        f"{offer.siblings} of this deployment and {offer.replicas} in all run there, "
        f"{size_text(offer.disk_free_bytes)} of disk are free"
    )
    if offer.late:
        because += ", its report is overdue"
    if offer.holds_model:
        because += ", the model is there already"
    elif offer.expects_model:
        because += ", the model is on its way there"
    gpus = tuple(gpu.uuid for gpu in gpus_for(need.gpu, offer))
    return Verdict(offer.name, None, rank, because, examine(need, offer), gpus)


def at_best(offer: Offer) -> Rank:
    """What ``_rank`` is never below, whatever is needed: what a database can order nodes by."""
    strange = not (offer.holds_model or offer.expects_model)
    size = -offer.disk_free_bytes
    return (False, False, offer.siblings, False, offer.replicas, strange, size, offer.name)


def _rank(need: Need, offer: Offer) -> Rank:
    """Smaller is better. A GPU that was wished for comes first; one nobody asked for is spared.

    A node whose report is overdue is the last one tried, for it may be dead.
    """
    without = bool(need.gpu.count) and not gpus_for(need.gpu, offer)
    wasteful = bool(need.instance_type) and not need.gpu.count and bool(offer.gpus)
    return (
        without,
        offer.late,
        offer.siblings,
        wasteful,
        offer.replicas,
        not (offer.holds_model or offer.expects_model),
        offer.disk_promised_bytes - offer.disk_free_bytes,
        offer.name,
    )

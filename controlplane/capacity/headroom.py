"""Pure: how many times its busiest hour a deployment could carry, and what ends it.

A load sweep of what it runs now has measured that. Without one each limit is what is there over
what the busiest hour of the last day took of it, as if more of the same came; whichever limit is
reached first counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from controlplane.capacity.facts import DeploymentFacts, NodeFacts

LEAST: Final = 0.001  # of a limit; what used less of it says nothing about it
MOST: Final = 1000.0  # times: beyond that it is only said to be more


@dataclass(frozen=True, slots=True)
class Headroom:
    """``times`` today's busiest hour; None: not known, and ``because`` says why. ``limit`` is
    sweep, instances, processors, gpus, concurrency, or empty."""

    times: float | None
    limit: str
    because: str


Limit = Callable[[DeploymentFacts, Mapping[str, NodeFacts]], Headroom | None]


def headroom(deployment: DeploymentFacts, nodes: Mapping[str, NodeFacts]) -> Headroom:
    """``nodes`` by id: those that its replicas run on."""
    measured = deployment.measured
    if not deployment.replicas:
        return Headroom(None, "", "It has no replica.")
    if measured is None:
        return Headroom(None, "", "Nothing of it was measured in the last day.")
    if not measured.requests and not measured.request_rate:
        return Headroom(None, "", "It had no request in the last day.")
    if (told := _swept(deployment)) is not None:
        return told
    found = [one for limit in LIMITS if (one := limit(deployment, nodes)) is not None]
    known = [one for one in found if one.times is not None]
    if not known:
        return Headroom(
            None, "", "What it used in its busiest hour is too little to tell from, or not told."
        )
    return min(known, key=lambda one: one.times or 0.0)


def _of(share: float, limit: str, because: str) -> Headroom | None:
    return Headroom(min(MOST, 1 / share), limit, because) if share >= LEAST else None


def _swept(deployment: DeploymentFacts) -> Headroom | None:
    """Replicas that answer, each as the one that was measured, over what clients asked for."""
    swept = deployment.swept
    asked = deployment.measured.request_rate if deployment.measured else None
    ready = sum(replica.ready for replica in deployment.replicas)
    if swept is None or not asked or not ready:
        return None
    text = (
        f"A load sweep of {swept.when} had {swept.rate:.3g} answers a second from one replica "
        f"{swept.point}; {ready} ready replica(s), and {asked:.3g} requests a second in its "
        "busiest hour."
    )
    return Headroom(min(MOST, swept.rate * ready / asked), "sweep", text)


def _instances(deployment: DeploymentFacts, nodes: Mapping[str, NodeFacts]) -> Headroom | None:
    del nodes
    busy = deployment.measured.busy if deployment.measured else None
    if busy is None:
        return None
    text = f"Its models' instances were at work {busy:.0%} of its busiest hour."
    return _of(busy, "instances", text)


def _processors(deployment: DeploymentFacts, nodes: Mapping[str, NodeFacts]) -> Headroom | None:
    own = deployment.measured.cpu if deployment.measured else None
    there = [nodes[one] for one in _places(deployment) if one in nodes]
    told = [node for node in there if node.cpu_peak is not None and node.processors]
    if own is None or not told or len(told) < len(_places(deployment)):
        return None
    free = sum(node.processors * max(0.0, 1 - (node.cpu_peak or 0.0)) for node in told)
    text = (
        f"It used {own:.2g} processors in its busiest hour, and {free:.2g} were free on its "
        f"{len(told)} node(s) in theirs."
    )
    return _of(own / (own + free), "processors", text) if own + free > 0 else None


def _gpus(deployment: DeploymentFacts, nodes: Mapping[str, NodeFacts]) -> Headroom | None:
    given = {uuid for replica in deployment.replicas for uuid in replica.gpus}
    cards = [card for node in nodes.values() for card in node.cards if card.uuid in given]
    peaks = [card.peak for card in cards if card.peak is not None]
    if not peaks:
        return None
    text = f"The busiest of its {len(given)} GPU(s) was at work {max(peaks):.0%} of an hour."
    return _of(max(peaks), "gpus", text)


def _concurrency(deployment: DeploymentFacts, nodes: Mapping[str, NodeFacts]) -> Headroom | None:
    del nodes
    held = deployment.measured.concurrency if deployment.measured else None
    if held is None or deployment.max_concurrent is None:
        return None
    most = deployment.max_concurrent * len(deployment.replicas)
    text = f"{held:.2g} of the {most} requests that it takes at a time were there on average."
    return _of(held / most, "concurrency", text)


LIMITS: Final[tuple[Limit, ...]] = (_instances, _processors, _gpus, _concurrency)


def _places(deployment: DeploymentFacts) -> set[str]:
    return {replica.node_id for replica in deployment.replicas}

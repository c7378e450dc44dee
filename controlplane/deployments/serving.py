"""What answers now, by the first rule that holds: the second axis of state, derived, never kept.

Any of these states may follow any other: a node dies whenever it does.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from controlplane.deployments.types import DeploymentState, ServingState

FactsT = TypeVar("FactsT")


@dataclass(frozen=True, slots=True)
class DeploymentFacts:
    """``running`` counts the replicas that are to run, ``ready`` those of them that are ready.
    ``wakes``: its policy takes it to zero, and back for a request."""

    provisioning: DeploymentState
    wanted: int
    running: int
    ready: int
    wakes: bool = False


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    """The serving states of its deployments: of those with traffic, and of all."""

    answering: Collection[ServingState]
    all: Collection[ServingState]


@dataclass(frozen=True)  # no slots: Python 3.11 cannot make Rule[DeploymentFacts] with them
class Rule(Generic[FactsT]):
    state: ServingState
    when: str  # for people
    holds: Callable[[FactsT], bool]


def always(_: object) -> bool:
    """The rule for what is left."""
    return True


D, V = DeploymentState, ServingState
DEPLOYMENT_RULES: Final = (
    Rule[DeploymentFacts](
        V.HEALTHY,
        "as many replicas are ready as are wanted",
        lambda it: it.ready > 0 and it.ready >= it.wanted,
    ),
    Rule[DeploymentFacts](V.DEGRADED, "some are ready", lambda it: it.ready > 0),
    Rule[DeploymentFacts](
        V.DEPLOYING,
        "none is ready yet: it is Creating or Updating",
        lambda it: it.provisioning in (D.CREATING, D.UPDATING),
    ),
    Rule[DeploymentFacts](
        V.IDLE,
        "its policy has taken it to zero, or is waking it: requests wait for a replica",
        lambda it: it.wakes and (it.provisioning == D.SCALING or it.wanted == it.running == 0),
    ),
    Rule[DeploymentFacts](
        V.STOPPED,
        "none is wanted and none runs: it is paused",
        lambda it: it.wanted == 0 and it.running == 0,
    ),
    Rule[DeploymentFacts](
        V.UNAVAILABLE,
        "none is ready, though some run, or it is Succeeded or Scaling",
        lambda it: it.running > 0 or it.provisioning in (D.SUCCEEDED, D.SCALING),
    ),
    Rule[DeploymentFacts](V.STOPPED, "nothing of it runs, nor should", always),
)
ENDPOINT_RULES: Final = (
    Rule[EndpointFacts](
        V.DEPLOYING,
        "no deployment has traffic, and one of them is Deploying",
        lambda it: not it.answering and V.DEPLOYING in it.all,
    ),
    Rule[EndpointFacts](V.STOPPED, "no deployment has traffic", lambda it: not it.answering),
    Rule[EndpointFacts](
        V.IDLE,
        "every deployment with traffic is Idle",
        lambda it: set(it.answering) == {V.IDLE},
    ),
    Rule[EndpointFacts](
        V.HEALTHY,
        "every deployment with traffic is Healthy, or Idle",
        lambda it: set(it.answering) <= {V.HEALTHY, V.IDLE},
    ),
    Rule[EndpointFacts](
        V.DEGRADED,
        "one with traffic is Healthy, Idle or Degraded",
        lambda it: bool({V.HEALTHY, V.IDLE, V.DEGRADED} & set(it.answering)),
    ),
    Rule[EndpointFacts](V.UNAVAILABLE, "none with traffic answers", always),
)


def serving(rules: tuple[Rule[FactsT], ...], facts: FactsT) -> ServingState:
    """The state of the first rule that holds; the last of each table always does."""
    return next(rule.state for rule in rules if rule.holds(facts))

"""What a new deployment gets of its endpoint's traffic once it is ready."""

from collections.abc import Mapping
from typing import Any

from shoal.client.errors import ShoalError
from shoal.client.types import Deployment
from shoal.entities import OnlineDeployment

BROKEN = frozenset({"Failed", "Canceled"})


def first_traffic(
    *, all_traffic: bool, traffic: int | None, rollout: Mapping[str, Any] | None
) -> dict[str, Any]:
    """As REST takes it; empty where neither a share nor a rollout is said. Raises ShoalError where
    two of them are."""
    given = {"traffic": traffic, "rollout": rollout}
    said = {name: value for name, value in given.items() if value is not None}
    names = [*(["all_traffic"] if all_traffic else []), *said]
    if len(names) > 1:
        raise ShoalError(
            "A deployment gets its first traffic in one way",
            f"{' and '.join(names)}: expected one of all_traffic, traffic and rollout",
        )
    return said


def first_traffic_check(
    entity: OnlineDeployment, current: Deployment | None, first: Mapping[str, Any]
) -> None:
    """Raises ShoalError for one that is there already: it has what it has."""
    if not first or current is None or current["provisioning_state"] in BROKEN:
        return
    endpoint, name = entity.endpoint_name, entity.name
    raise ShoalError(
        f"{endpoint} has a deployment {name} already",
        f"{', '.join(first)}: what a new deployment begins with",
        [
            f"`shoal traffic {endpoint}` changes its share.",
            f"`shoal rollout start {endpoint} {name}` moves the traffic to it step by step.",
        ],
    )


def not_local(first: Mapping[str, Any]) -> ShoalError:
    return ShoalError(
        "A local endpoint has no shares of traffic and no rollouts",
        f"{', '.join(first)}: of deployments in the studio only",
        ["`--all-traffic` (`all_traffic=True`) has it answer."],
    )

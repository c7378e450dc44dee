"""What a policy of the autoscaler would have done with a deployment's last hours."""

from datetime import datetime
from typing import Any, Final

from controlplane.autoscaling import Policy, Replay, policy_from_json, replayed
from controlplane.core.errors import Conflict, Invalid
from controlplane.deployments.selectors import deployment_get, told_since
from controlplane.metrics.selectors import minutes
from controlplane.metrics.types import MINUTE_S, Scope
from controlplane.operations.services.loads import load_of_minute, processors_of

HOUR_S: Final = 3600


def autoscaling_preview(
    *, endpoint: str, name: str, autoscale: dict[str, Any] | None, hours: int, now: datetime
) -> Replay:
    """By the means of its minutes. ``autoscale`` None: the policy that it has.

    Raises EndpointNotFound, DeploymentNotFound, Invalid where there is no policy, or none of its
    targets can be foreseen, Conflict where nothing was measured.
    """
    row = deployment_get(endpoint, name)
    told = row.autoscale if autoscale is None else autoscale
    if told is None:
        raise Invalid(f"{name} has no policy.", field="autoscale", hints=("Send one.",))
    policy: Policy = policy_from_json(told)
    until = now.timestamp()
    # why a minute later: the first one began before
    since = max(until - hours * HOUR_S, told_since(row.endpoint) + MINUTE_S)
    known = [processors_of(replica) for replica in row.replicas.select_related("node")]
    processors = min(known, default=0)
    scope = Scope("deployment", endpoint, name)
    loads = [
        (at, None if data is None else load_of_minute(at, data, processors))
        for at, data in minutes(scope, since, until)
    ]
    measured = [index for index, (_, load) in enumerate(loads) if load is not None]
    if not measured:
        raise Conflict(
            f"Nothing was measured of {name} in the last {hours} hours.",
            code="NothingMeasured",
            hints=("Minutes are kept a short while after they end: ask again in two.",),
        )
    found = replayed(policy, loads[measured[0] : measured[-1] + 1], MINUTE_S)
    if found is None:
        names = ", ".join(policy.targets.set())
        raise Invalid(
            f"autoscale.targets: {names} cannot be foreseen: it depends on how many replicas run.",
            field="autoscale.targets",
            hints=("Those that can: in_flight, requests_per_second, cpu_percent.",),
        )
    return found

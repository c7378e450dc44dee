"""Deployments that their policy takes to zero, and back when a request comes. Pure."""

from collections.abc import Mapping
from typing import Any

from controlplane.autoscaling import Idle, policy_from_json


def idle_rule(autoscale: Mapping[str, Any] | None, paused_count: int | None) -> Idle | None:
    """How it is taken to zero and woken; None: it is not, or somebody has paused it.

    ``paused_count``: replicas before a pause; None: nobody paused it.
    """
    if autoscale is None or autoscale.get("min", 1) or paused_count is not None:
        return None
    policy = policy_from_json(autoscale)
    return policy.idle if policy.enabled else None


def is_paused(
    instance_count: int, paused_count: int | None, autoscale: Mapping[str, Any] | None
) -> bool:
    """Without replicas by a person's word, and not by that of a policy, which brings them back."""
    if instance_count:
        return False
    return paused_count is not None or not (autoscale or {}).get("enabled", autoscale is not None)

"""Rollouts: traffic to a candidate step by step. Azure's SDK has nothing like it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal import entities
from shoal.client.client import Client
from shoal.client.rollout_types import Rollout, RolloutDifference


class RolloutOperations:
    """``ml_client.rollouts``; a rollout is as in REST. Without ``rollout_id`` the endpoint's latest
    is meant."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def start(
        self,
        endpoint_name: str,
        deployment_name: str,
        *,
        steps: Sequence[Mapping[str, int]] | None = None,
        min_requests: int | None = None,
        guardrails: Mapping[str, Mapping[str, float] | None] | None = None,
        compare: Mapping[str, Any] | None = None,
        strategy: str | None = None,
        shadow: Mapping[str, int] | None = None,
        supersede: bool = False,
    ) -> Rollout:
        """Give a ready deployment the traffic of the first step, and more while it does no worse.

        ``steps``: ``{"percent": 10, "hold_s": 300}``, the last of them 100. ``guardrails``: by
        name, ``{"errors": {"tolerance": 1.5}}``; None turns one off. ``compare``:
        ``{"per_minute": 30, "sources": ["captured"]}`` asks both versions so many inputs.
        ``strategy``: ``"blue_green"`` switches at once, and back where the candidate does worse.
        ``shadow``: ``{"percent": 10, "hold_s": 300}`` sends it copies of requests first.
        ``supersede``: end the rollout that is under way.
        """
        return self._client.start_rollout(
            endpoint_name,
            deployment_name,
            steps=steps,
            min_requests=min_requests,
            guardrails=guardrails,
            compare=compare,
            strategy=strategy,
            shadow=shadow,
            supersede=supersede,
        )

    def create(self, rollout: entities.Rollout, *, supersede: bool = False) -> Rollout:
        """Begin what a file says: ``create(load_rollout("rollout.yml"))``."""
        return self._client.start_rollout(
            rollout.endpoint, rollout.deployment, supersede=supersede, **rollout.options()
        )

    def get(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return self._client.get_rollout(endpoint_name, rollout_id)

    def differences(
        self, endpoint_name: str, rollout_id: str | None = None
    ) -> Sequence[RolloutDifference]:
        """The last inputs that the candidate answered otherwise, the newest first."""
        return self._client.rollout_differences(endpoint_name, rollout_id)

    def list(self, endpoint_name: str) -> Iterator[Rollout]:
        return iter(self._client.list_rollouts(endpoint_name))

    def pause(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return self._client.pause_rollout(endpoint_name, rollout_id)

    def resume(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return self._client.resume_rollout(endpoint_name, rollout_id)

    def promote(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return self._client.promote_rollout(endpoint_name, rollout_id)

    def abort(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        return self._client.abort_rollout(endpoint_name, rollout_id)

    def wait(self, endpoint_name: str, rollout_id: str | None = None) -> Rollout:
        """Once it has ended, in whatever way: ``state`` says which, ``reason`` why."""
        return self._client.wait_rollout(endpoint_name, rollout_id)

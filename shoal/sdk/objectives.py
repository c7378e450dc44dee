"""Objectives of endpoints. Azure's SDK has nothing like it."""

from shoal.client.alert_types import Objective
from shoal.client.client import Client


class ObjectiveOperations:
    """``ml_client.objectives``; an objective is as in REST."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def set(
        self,
        endpoint_name: str,
        name: str,
        *,
        kind: str,
        target_percent: float,
        window_days: int = 28,
        threshold_ms: float | None = None,
    ) -> Objective:
        """Make it, or make it anew. ``kind`` is ``availability`` or ``latency``."""
        return self._client.set_objective(
            endpoint_name,
            name,
            kind=kind,
            target_percent=target_percent,
            window_days=window_days,
            threshold_ms=threshold_ms,
        )

    def get(self, endpoint_name: str, name: str) -> Objective:
        return self._client.get_objective(endpoint_name, name)

    def list(self, endpoint_name: str) -> list[Objective]:
        return self._client.list_objectives(endpoint_name)

    def delete(self, endpoint_name: str, name: str) -> None:
        self._client.delete_objective(endpoint_name, name)

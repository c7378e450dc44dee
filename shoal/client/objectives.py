"""The client's calls about objectives of endpoints."""

from typing import Any, cast

from shoal.client.administration import Administration, quoted
from shoal.client.alert_types import Objective


class Objectives(Administration):
    """A part of ``Client``."""

    def list_objectives(self, endpoint: str) -> list[Objective]:
        """By name, each with what is left of its error budget."""
        return cast(list[Objective], self._get(_path(endpoint))["items"])

    def get_objective(self, endpoint: str, name: str) -> Objective:
        return cast(Objective, self._get(_path(endpoint, name)))

    def set_objective(
        self,
        endpoint: str,
        name: str,
        *,
        kind: str,
        target_percent: float,
        window_days: int = 28,
        threshold_ms: float | None = None,
    ) -> Objective:
        """Make it, or make it anew. ``kind`` is ``availability`` or ``latency``."""
        body: dict[str, Any] = {
            "kind": kind,
            "target_percent": target_percent,
            "window_days": window_days,
            "threshold_ms": threshold_ms,
        }
        return cast(Objective, self._transport.json("PUT", _path(endpoint, name), json=body))

    def delete_objective(self, endpoint: str, name: str) -> None:
        self._transport.json("DELETE", _path(endpoint, name))


def _path(endpoint: str, name: str = "") -> str:
    path = f"/endpoints/{quoted(endpoint)}/objectives"
    return f"{path}/{quoted(name)}" if name else path

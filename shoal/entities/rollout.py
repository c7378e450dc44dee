"""A rollout as a file says it, in REST's words."""

from dataclasses import dataclass
from typing import Any

from shoal.entities.base import Document


@dataclass(kw_only=True)
class Rollout(Document):
    """``deployment`` is the candidate. Of what is not said the installation has defaults; a
    guardrail that is None is not looked at."""

    endpoint: str
    deployment: str
    steps: list[dict[str, int]] | None = None
    min_requests: int | None = None
    guardrails: dict[str, dict[str, float] | None] | None = None
    compare: dict[str, Any] | None = None
    strategy: str | None = None
    shadow: dict[str, int] | None = None

    def options(self) -> dict[str, Any]:
        """All but its names, as clients take it."""
        names = ("steps", "min_requests", "guardrails", "compare", "strategy", "shadow")
        return {name: getattr(self, name) for name in names}

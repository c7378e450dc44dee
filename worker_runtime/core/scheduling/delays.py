"""How many requests must have come before the first batch: what Triton's own tests ask for."""

import re
from collections.abc import Mapping

from msgspec import Struct


class Delays(Struct, frozen=True):
    """How many requests must wait in the queues, and in the backlog, before the first batch."""

    queued: int = 0
    backlog: int = 0

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Delays":
        """As Triton's two variables say."""
        return cls(
            queued=_number(environment.get("TRITONSERVER_DELAY_SCHEDULER", "")),
            backlog=_number(environment.get("TRITONSERVER_BACKLOG_DELAY_SCHEDULER", "")),
        )


NO_DELAYS = Delays()


def _number(text: str) -> int:
    """What C's atoi makes of it, nothing below 0."""
    found = re.match(r"\s*\+?(\d+)", text)
    return int(found.group(1)) if found else 0

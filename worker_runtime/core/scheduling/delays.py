"""The two variables by which Triton's own tests hold a scheduler back until enough has come."""

import os
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delays:
    """How many requests must wait in the queues, and in the backlog, before the first batch."""

    queued: int = 0
    backlog: int = 0


def delays() -> Delays:
    """As the environment has them now: Triton looks when it makes a scheduler."""
    return Delays(
        queued=_number(os.environ.get("TRITONSERVER_DELAY_SCHEDULER", "")),
        backlog=_number(os.environ.get("TRITONSERVER_BACKLOG_DELAY_SCHEDULER", "")),
    )


def _number(text: str) -> int:
    """What C's atoi makes of it, nothing below 0."""
    found = re.match(r"\s*\+?(\d+)", text)
    return int(found.group(1)) if found else 0

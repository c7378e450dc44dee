"""Values of nodes: the rule of liveness, and what tokens and credentials look like."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

Liveness = Literal["online", "suspect", "offline"]
SHORTEST_S: Final = 5.0  # between reports
LONGEST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class LivenessRule:
    """Ages of the last report, in seconds, beyond which a node changes its state."""

    interval_s: float
    suspect_after_s: float
    offline_after_s: float

    def state(self, age_s: float | None) -> Liveness:
        """``age_s`` is None for a node that never reported."""
        if age_s is None or age_s > self.offline_after_s:
            return "offline"
        return "suspect" if age_s > self.suspect_after_s else "online"


def liveness(interval_s: float) -> LivenessRule:
    """Two missed reports make a node suspect, four take it offline."""
    interval_s = min(max(interval_s, SHORTEST_S), LONGEST_S)
    return LivenessRule(interval_s, 2 * interval_s, 4 * interval_s)


LIVENESS: Final = liveness(SHORTEST_S)


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often each node calls, in seconds."""

    report_s: float
    poll_s: float
    sample_s: float


def cadence(nodes: int) -> Cadence:
    """Together ``nodes`` make at most 100 calls a second, most of them reports.

    A report's answer also says whether there is something to fetch, so polls may be rare.
    """
    return Cadence(
        report_s=min(max(SHORTEST_S, nodes / 70), LONGEST_S),
        poll_s=max(2.0, nodes / 15),
        sample_s=max(2.0, nodes / 15),
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """Something about a node that people should know; it works nevertheless."""

    code: str  # ClockSkew, VersionSkew, DiskPressure
    message: str


CLOCK_SKEW_S: Final = 5.0

JOIN_TOKEN_LIFETIME: Final = timedelta(hours=1)
JOIN_PREFIX: Final = "sjoin_"
CREDENTIAL_PREFIX: Final = "snode_"
SHOWN_CHARS: Final = 12


def join_token_new() -> str:
    return JOIN_PREFIX + secrets.token_urlsafe(32)


def credential_new(node_id: str) -> str:
    """``snode_<node id>_<secret>``: the id finds the row, the whole proves the node."""
    return f"{CREDENTIAL_PREFIX}{node_id}_{secrets.token_urlsafe(32)}"


def credential_node_id(credential: str) -> str | None:
    """The id inside a credential; None when it does not look like one."""
    if not credential.startswith(CREDENTIAL_PREFIX):
        return None
    node_id, separator, secret = credential.removeprefix(CREDENTIAL_PREFIX).partition("_")
    return node_id if node_id and separator and secret else None


def secret_hash(clear: str) -> str:
    """Plain SHA-256 is enough: tokens and credentials hold 256 random bits."""
    return hashlib.sha256(clear.encode()).hexdigest()


def queue_of(node_id: str) -> str:
    """The Celery queue of a node's bell."""
    return f"node.{node_id}"

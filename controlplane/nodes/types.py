"""Values of nodes: the rule of liveness, and what tokens and credentials look like."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

Liveness = Literal["online", "suspect", "offline"]


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


# Two missed reports make a node suspect, four take it offline.
LIVENESS: Final = LivenessRule(interval_s=5.0, suspect_after_s=10.0, offline_after_s=20.0)

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

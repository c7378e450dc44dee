"""Ids of inference requests that Shoal makes itself.

Where they are captured, statistics and what is asked again pass them over: no client sent them.
Anybody may write such an id into a body. What gateways leave out of their counts is therefore known
by an ``x-request-id`` that only the control plane can make, so that no client hides its failures.
"""

import hashlib
import hmac
import secrets
from typing import Final

COMPARISON: Final = "shoal-comparison"  # golden cases, and inputs that both versions are asked
LOAD_SWEEP: Final = "shoal-load-sweep"  # of the load client: sweeps, tunings, `shoal bench`
FIRST_INFERENCE: Final = "shoal-first-inference"  # of the agent, at each start of a replica
OWN_REQUESTS: Final = frozenset({COMPARISON, LOAD_SWEEP, FIRST_INFERENCE})

VALID_S: Final = 300.0  # that the clocks of control plane and gateway may be apart, and more
_PREFIX: Final = f"{COMPARISON}."
_PARTS: Final = 4
_SIGNED_CHARS: Final = 20  # of hex: in all no more than the 64 that gateways and replicas keep


def signed_id(key: str, endpoint: str, now: float) -> str:
    """An ``x-request-id`` for one request to ``endpoint``. ``now``: Unix seconds."""
    stated = f"{_PREFIX}{int(now):x}.{secrets.token_hex(6)}"
    return f"{stated}.{_signed(key, endpoint, stated)}"


def is_signed(key: str, endpoint: str, request_id: str, at: float) -> bool:
    """Whether the control plane made this id for a request to ``endpoint`` at about ``at`` (Unix
    seconds). Whoever reads it may send it again: each counts once (``gateway.own_requests``)."""
    if not key or not request_id.startswith(_PREFIX):
        return False
    parts = request_id.split(".")
    if len(parts) != _PARTS:
        return False
    stated, _, signed = request_id.rpartition(".")
    expected = _signed(key, endpoint, stated)
    if not hmac.compare_digest(expected.encode(), signed.encode(errors="replace")):
        return False
    return abs(int(parts[1], 16) - at) <= VALID_S


def _signed(key: str, endpoint: str, stated: str) -> str:
    told = f"{endpoint} {stated}".encode(errors="replace")
    return hmac.new(key.encode(), told, hashlib.sha256).hexdigest()[:_SIGNED_CHARS]

"""Pure but for the installation's secret: the tokens that open an endpoint for a while.

Time is cut into windows. Every endpoint has one token per window, made from the installation's
secret, so there is nothing to store; it holds for its own window and the next. Whoever asks gets
the token of the window that is, and gateways know the next one beforehand. Raising the endpoint's
epoch makes all tokens of before worthless.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from controlplane.core import vault

WINDOW: Final = timedelta(minutes=30)
PREFIX: Final = "shoal_et_"


@dataclass(frozen=True, slots=True)
class EndpointToken:
    clear: str
    expires_at: datetime
    refresh_after: datetime


def token_now(endpoint: str, born: int, epoch: int, now: datetime) -> EndpointToken:
    """``born`` tells apart endpoints that had one name after another."""
    window = window_at(now)
    return EndpointToken(
        clear=_token(endpoint, born, epoch, window),
        expires_at=_begin(window + 2),
        refresh_after=_begin(window + 1),
    )


def hashes_valid(endpoint: str, born: int, epoch: int, now: datetime) -> tuple[str, ...]:
    """SHA-256 of the tokens to let in: of this window, the one before and the one to come."""
    window = window_at(now)
    tokens = (_token(endpoint, born, epoch, window + step) for step in (-1, 0, 1))
    return tuple(hashlib.sha256(token.encode()).hexdigest() for token in tokens)


def window_at(now: datetime) -> int:
    """Another number means other tokens (``hashes_valid``)."""
    return int(now.timestamp() // WINDOW.total_seconds())


def _begin(window: int) -> datetime:
    return datetime.fromtimestamp(window * WINDOW.total_seconds(), UTC)


def _token(endpoint: str, born: int, epoch: int, window: int) -> str:
    text = f"{endpoint}\0{born}\0{epoch}\0{window}"
    digest = hmac.digest(vault.derived("shoal endpoint tokens"), text.encode(), "sha256")
    return PREFIX + base64.urlsafe_b64encode(digest).decode().rstrip("=")

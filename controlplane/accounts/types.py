"""Values of accounts: what a token looks like, and how patience with wrong passwords ends."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

TOKEN_PREFIX = "shoal_"  # noqa: S105 - the public prefix, no secret
PREFIX_CHARS = 12


@dataclass(frozen=True)
class BackOff:
    """After ``free_attempts`` failures within ``window`` every further one doubles the wait."""

    free_attempts: int
    window: timedelta = timedelta(minutes=15)
    longest_s: int = 300

    def wait_s(self, failures: int) -> int:
        """Seconds from the last failure until the next attempt is heard."""
        if failures < self.free_attempts:
            return 0
        # why the cap on the exponent: 2 ** (a million failures) would itself be an attack
        return min(1 << min(failures - self.free_attempts + 1, 16), self.longest_s)


PER_USER = BackOff(free_attempts=5)
PER_ADDRESS = BackOff(free_attempts=20)


def token_new() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Plain SHA-256 is enough: the token holds 256 random bits, there is nothing to guess."""
    return hashlib.sha256(token.encode()).hexdigest()

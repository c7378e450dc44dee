"""Values of accounts: what a token looks like, and how wrong passwords are throttled."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

TOKEN_PREFIX = "shoal_"  # noqa: S105 - the public prefix, no secret
PREFIX_CHARS = 12
DEFAULT_PROJECT = "default"  # made by the migration; holds what names no project


@dataclass(frozen=True)
class BackOff:
    """After ``free_attempts`` failures every further one doubles the wait.

    They are forgotten once nobody tried for ``window``, which is long enough that waiting for it
    gains nothing: at ``longest_s`` there are more attempts in the same time.
    """

    free_attempts: int
    window: timedelta = timedelta(hours=1)
    longest_s: int = 300

    def wait_s(self, failures: int) -> int:
        """Seconds from the last failure until the next attempt is heard."""
        if failures < self.free_attempts:
            return 0
        # why the cap on the exponent: 2 ** (a million failures) would itself be an attack
        return min(1 << min(failures - self.free_attempts + 1, 16), self.longest_s)


PER_USER = BackOff(free_attempts=5)
PER_ADDRESS = BackOff(free_attempts=20)
KNOWN_FOR: Final = timedelta(days=90)  # that long a name is known where it signed in
IPV6_PREFIX: Final = 64  # what one customer gets, to choose addresses from at will
NO_NETWORK: Final = "unknown"


def network_of(address: str) -> str:
    """What counts as one place: an IPv4 address, or the /64 around an IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return NO_NETWORK
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, IPV6_PREFIX), strict=False))


def token_new() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Plain SHA-256 is enough: the token holds 256 random bits, there is nothing to guess."""
    return hashlib.sha256(token.encode()).hexdigest()

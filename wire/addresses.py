"""Addresses at which machines reach each other, in the one spelling that all parts compare."""

import ipaddress
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

# Where clouds hand out credentials to whoever asks from the inside, besides link-local addresses.
METADATA: Final = frozenset(("fd00:ec2::254", "100.100.100.200", "168.63.129.16"))
PORTS: Final = {"http": 80, "https": 443}  # of a collector of spans, where its URL has none
EXPECTED: Final = "the IPv4 or IPv6 address of one machine"


def host_address(text: str) -> str:
    """``text`` as Envoy spells it, so that equal addresses are equal texts.

    Raises ValueError, which says what was expected, for host names and for all that is not one
    machine's own: unspecified, multicast, link-local, reserved and metadata addresses, IPv4 inside
    of IPv6, and addresses with a zone, which mean something on their own machine only.
    """
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f"expected {EXPECTED}, and no name") from None
    if found.is_loopback and getattr(found, "scope_id", None) is None:
        return str(found)
    inside = isinstance(found, ipaddress.IPv6Address) and (
        found.scope_id is not None or found.ipv4_mapped is not None
    )
    nobody = isinstance(found, ipaddress.IPv4Address) and found.packed[0] == 0
    special = found.is_unspecified or found.is_multicast or found.is_link_local or found.is_reserved
    if inside or nobody or special or str(found) in METADATA:
        raise ValueError(f"expected {EXPECTED}, not a special one")
    return str(found)


def is_loopback(address: str) -> bool:
    """Whether each machine finds itself there. ``address`` comes from ``host_address``."""
    return ipaddress.ip_address(address).is_loopback


def collector_url(name: str, text: str) -> str:
    """``text`` itself, the value of the setting ``name``: where spans are sent by OTLP over HTTP;
    empty where nobody is. Raises ValueError, which names both and what was expected."""
    if not text:
        return text
    plain = text.isprintable() and not set(text) & set(" @?#")
    expected = "an address as http://collector:4318/v1/traces"
    with suppress(ValueError):  # of brackets around no address, and of ports that are none
        parts = urlsplit(text)
        if plain and parts.scheme in PORTS and parts.hostname and parts.path:
            expected = "a port from 1 to 65535"
            if parts.port != 0:
                return text
    raise ValueError(f"{name}={_without_secrets(text)!r}: expected {expected}.")


def _without_secrets(url: str) -> str:
    """For a log: no more than its scheme where it may have a password or a key."""
    if not set(url) & set("@?#"):
        return url
    return next((f"{scheme}://…" for scheme in PORTS if url.startswith(f"{scheme}://")), "…")

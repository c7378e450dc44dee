"""The one guard of what people let the control plane call: public addresses, and those that a
setting of the caller's allows.

A name is looked up once, all its addresses are judged, and the request goes to one of those: a name
that points elsewhere a moment later leads nowhere.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from controlplane.core.errors import Invalid
from wire.addresses import METADATA

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LONGEST_URL = 2000


class AddressRefused(Exception):
    """The sentence says why nothing there is called."""


class NameUnknown(AddressRefused):
    """Nobody here can tell its addresses."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be called although it is not public: ``networks``, by the ``setting`` so called."""

    setting: str
    networks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """``host`` is what certificates and the header name, ``address`` what is called."""

    scheme: str
    host: str
    port: int
    path: str
    address: str

    @property
    def url(self) -> str:
        shown = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{shown}:{self.port}{self.path}"

    @property
    def authority(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.scheme == "https" else 80
        return shown if self.port == usual else f"{shown}:{self.port}"


def url_check(url: str, field: str = "url", *, hint: str = "") -> str:
    """What may be shown of it: scheme, host and port. Raises Invalid; asks nobody."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _no_url(field, str(error), hint) from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise _no_url(field, "no scheme http or https, or no host", hint)
    if parts.username or parts.password:
        raise _no_url(field, "it has a name or a password before the host", hint)
    if len(url) > LONGEST_URL or not url.isascii() or any(one <= " " for one in url):
        raise _no_url(field, f"longer than {LONGEST_URL}, or with spaces or other signs", hint)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}"


def _no_url(field: str, why: str, hint: str) -> Invalid:
    # why not the value: a part of it is often a secret
    return Invalid(
        f"{field}: {why}, expected https://host/path.",
        field=field,
        hints=(hint,) if hint else (),
    )


def target(url: str, allowed: Allowed) -> Target:
    """Raises AddressRefused."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = judged(host, port, parts.scheme, allowed)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, path, address)


def judged(host: str, port: int, scheme: str, allowed: Allowed) -> str:
    """The address of ``host`` to call, once all that it has are found fit. Raises
    AddressRefused."""
    addresses = _addresses(host, port)
    for address in addresses:
        refuse(address, host, scheme, allowed)
    return str(addresses[0])


def _addresses(host: str, port: int) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NameUnknown(f"{host} is not known: {error}") from error
    return [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]


def refuse(address: Address, host: str, scheme: str, allowed: Allowed) -> None:
    """Pure. Raises AddressRefused for what is neither public nor allowed."""
    # an IPv6 address may hold one of IPv4, which is where it leads
    plain = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
    networks = (ipaddress.ip_network(one) for one in allowed.networks)
    if any(plain in network for network in networks if network.version == plain.version):
        return
    # why each: "global" are also the old site-local addresses of IPv6, and a cloud's host
    inside = not plain.is_global or getattr(plain, "is_site_local", False)
    if inside or plain.is_multicast or plain.is_reserved or str(plain) in METADATA:
        who = host if host == str(address) else f"{host} is {address}, which"
        raise AddressRefused(
            f"{who} is not public. {allowed.setting} names networks that are called nevertheless."
        )
    if scheme != "https":
        raise AddressRefused(f"{host} is public: only https is used there.")

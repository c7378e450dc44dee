"""The authority of what endpoints show to their clients: one for all gateways.

It is not that of the agents' port: this one is handed to every client and into their trust stores,
and may be an organisation's own; it must not make anybody a node, a gateway or a control plane.
"""

import ipaddress
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from django.conf import settings

from controlplane.core.authorities import Authorities
from controlplane.core.certificates import SERVER, Signer, hosts, pem, requested_key
from controlplane.core.errors import Unavailable
from controlplane.gateway import tls
from controlplane.gateway.models import ServingAuthorityRow
from wire.serving_certificates import ServingAuthority, ServingCertificateReply

logger = logging.getLogger(__name__)
CERTIFICATE_LIFE: Final = timedelta(days=90)
# Clients are given the next authority by hand: it is known for a year before it signs, a year
# before the end of the other.
AUTHORITIES: Final = Authorities(
    ServingAuthorityRow,
    "serving-authority",
    "Shoal endpoints' authority",
    known_before=timedelta(days=365),
    replaced_before=timedelta(days=730),
)
LONGEST_CSR: Final = 8192  # characters
MOST_NAMES: Final = 64
HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?", re.ASCII)


class SuppliedAuthorityUnusable(Unavailable):
    """What SHOAL_GATEWAY_CA_FILE and SHOAL_GATEWAY_CA_KEY_FILE name cannot sign."""

    code = "SuppliedAuthorityUnusable"
    tries = ("docs/gateway.md says what these two files hold.",)


@dataclass(frozen=True, slots=True)
class Signing:
    """Who signs now; ``chain`` stands between it and who is trusted, itself included."""

    signer: Signer
    chain: tuple[x509.Certificate, ...]


@dataclass(frozen=True, slots=True)
class Trusted:
    """One certificate that clients should trust."""

    certificate: x509.Certificate
    supplied: bool
    signs: bool  # certificates that are made now lead to it
    signs_from: datetime | None = None  # of one that is yet to

    @property
    def sha256(self) -> str:
        return self.certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def trusted(now: datetime) -> list[Trusted]:
    """Whom clients should trust, who signs now first. Makes none: empty before the first gateway
    has asked. Raises SuppliedAuthorityUnusable."""
    supplied = [
        Trusted(one, supplied=True, signs=True) for one in _supplied_certificates() if _is_root(one)
    ]
    rows = AUTHORITIES.valid(now)
    current = max((row.number for row in rows if row.signs_from <= now), default=None)
    ours = [
        Trusted(
            x509.load_pem_x509_certificate(row.certificate.encode()),
            supplied=False,
            signs=not supplied and row.number == current,
            signs_from=row.signs_from if row.signs_from > now else None,
        )
        for row in rows
    ]
    return supplied + sorted(ours, key=lambda one: not one.signs)


def trusted_pem(now: datetime) -> str:
    return "".join(pem(one.certificate) for one in trusted(now))


def serving_authority(now: datetime) -> ServingAuthority:
    """For gateways. Raises AuthorityUnreadable, SuppliedAuthorityUnusable."""
    signing = _signing(now)
    return ServingAuthority(
        trusted=trusted_pem(now), signing=pem(signing.signer.certificate), names=_public_names()
    )


def serving_certificate(
    csr: str, names: Iterable[str], now: datetime
) -> tuple[ServingCertificateReply, list[str]]:
    """For a gateway that clients call by ``names``, and those that all have; with what it is named.

    Raises ValueError: what the request should be. Also AuthorityUnreadable and
    SuppliedAuthorityUnusable.
    """
    if len(csr) > LONGEST_CSR:
        raise ValueError(f"csr: expected at most {LONGEST_CSR} characters, got {len(csr)}")
    wanted = list(dict.fromkeys((*names, *_public_names())))
    if len(wanted) > MOST_NAMES:
        raise ValueError(f"names: expected at most {MOST_NAMES}, got {len(wanted)}")
    for name in wanted:
        if not (_is_address(name) or HOST.fullmatch(name)):
            raise ValueError(f"names: {name!r:.80}: expected a host name or an IP address")
    signing = _signing(now)
    try:
        key = requested_key(csr)
    except ValueError as error:
        raise ValueError(f"csr: {error}") from error
    certificate = signing.signer.signed(
        tls.SUBJECT, key, usage=SERVER, alternatives=hosts(wanted), now=now, life=CERTIFICATE_LIFE
    )
    chain = "".join(pem(one) for one in (certificate, *signing.chain))
    return ServingCertificateReply(certificate=chain, trusted=trusted_pem(now)), wanted


def file_write(now: datetime) -> None:
    """Let programs on this machine read whom to trust: the ``ca_path`` of endpoints."""
    settings.SHOAL_TLS_DIR.mkdir(parents=True, exist_ok=True)
    tls.trust(settings.SHOAL_TLS_DIR, trusted_pem(now))


def local_authority_adopt(now: datetime) -> None:
    """Go on with the one that the gateway in this data folder had of its own, before all had one
    together: clients trust it already. Does nothing where there is none, or another one is there.
    """
    certificate, key = (settings.SHOAL_TLS_DIR / name for name in ("ca.pem", "ca.key"))
    if key.exists() and certificate.exists() and not AUTHORITIES.valid(now):
        try:
            AUTHORITIES.adopt(certificate.read_text(), key.read_text(), now)
        except ValueError as error:
            logger.warning("%s does not become the authority of all gateways: %s", key, error)


def _signing(now: datetime) -> Signing:
    certificates = _supplied_certificates()
    if not certificates:
        signer = AUTHORITIES.signer(now)
        return Signing(signer, ())
    if not any(map(_is_root, certificates)):
        raise SuppliedAuthorityUnusable(
            f"{settings.SHOAL_GATEWAY_CA_FILE}: expected the chain up to a self-signed certificate,"
            " which clients trust"
        )
    try:
        key = Path(settings.SHOAL_GATEWAY_CA_KEY_FILE).read_bytes()
        signer = Signer.from_pem(pem(certificates[0]).encode(), key)
        signer.check(now)
    except (OSError, ValueError) as error:
        raise SuppliedAuthorityUnusable(
            f"{settings.SHOAL_GATEWAY_CA_FILE}, {settings.SHOAL_GATEWAY_CA_KEY_FILE}: {error}"
        ) from error
    return Signing(signer, tuple(one for one in certificates if not _is_root(one)))


def _supplied_certificates() -> list[x509.Certificate]:
    """Read each time, so that renewed ones need no restart."""
    if not settings.SHOAL_GATEWAY_CA_FILE:
        return []
    try:
        return x509.load_pem_x509_certificates(Path(settings.SHOAL_GATEWAY_CA_FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise SuppliedAuthorityUnusable(f"{settings.SHOAL_GATEWAY_CA_FILE}: {error}") from error


def _is_root(certificate: x509.Certificate) -> bool:
    return tls.signed_by(certificate, certificate)


def _public_names() -> tuple[str, ...]:
    """By what clients are told to call endpoints."""
    host = urlsplit(settings.SHOAL_GATEWAY_URL).hostname
    return (host,) if host else ()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

"""The authority of the agents' port: it signs that port, and the nodes and gateways that call it.

Its key is in the database, sealed, so that every process of the control plane has the same. A new
one is made long before the old ends, and signs only when every agent has learned of it with the
renewal of a certificate: nobody has to be told by hand.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import UniformResourceIdentifier
from django.conf import settings

from controlplane.core.authorities import Authorities
from controlplane.core.certificates import CLIENT, SERVER, hosts, key_pem, pem, requested_key
from controlplane.nodes.models import Authority
from wire.messages import CertificateReply

CERTIFICATE_LIFE: Final = timedelta(days=30)
# Longer than any certificate lives, so that whoever has one has learned of the next authority.
KNOWN_BEFORE: Final = timedelta(days=60)
REPLACED_BEFORE: Final = timedelta(days=365)
LONGEST_CSR: Final = 8192  # characters
AUTHORITIES: Final = Authorities(
    Authority, "agents-authority", "Shoal agents' authority", KNOWN_BEFORE, REPLACED_BEFORE
)


@dataclass(frozen=True, slots=True)
class Pair:
    certificate: str  # PEM
    key: str  # PEM


def authority_adopt(certificate: str, key: str, now: datetime) -> None:
    """Let this pair (PEM) be the first authority, so that gateways and nodes can be told of it
    before anything runs. Once more, or renewed with the same key: nothing happens.

    Raises ValueError: it is none that signs, or there is another one already.
    """
    AUTHORITIES.adopt(certificate, key, now)


def authorities_pem(now: datetime) -> str:
    """All that agents should trust."""
    return "".join(row.certificate for row in AUTHORITIES.ensure(now))


def authority_pem(now: datetime) -> str:
    """The one that signs now: what join tokens name."""
    return AUTHORITIES.signing(now).certificate


def client_certificate(who: str, csr: str, now: datetime) -> CertificateReply:
    """For ``node/<id>`` or ``gateway/<name>``. Raises ValueError: what the request should be."""
    if len(csr) > LONGEST_CSR:
        raise ValueError(f"expected at most {LONGEST_CSR} characters, got {len(csr)}")
    certificate = AUTHORITIES.signer(now).signed(
        "Shoal agent",
        requested_key(csr),
        usage=CLIENT,
        alternatives=[UniformResourceIdentifier(f"shoal:{who}")],
        now=now,
        life=CERTIFICATE_LIFE,
    )
    return CertificateReply(
        certificate=pem(certificate),
        authority=authorities_pem(now),
        url=settings.SHOAL_AGENT_URL,
        begins_at=now.timestamp(),
        ends_at=certificate.not_valid_after_utc.timestamp(),
    )


def server_pair(names: list[str], now: datetime) -> Pair:
    """For a process that serves the agents' port under ``names``; its key never leaves it."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = AUTHORITIES.signer(now).signed(
        "Shoal control plane",
        key.public_key(),
        usage=SERVER,
        alternatives=hosts(names),
        now=now,
        life=CERTIFICATE_LIFE,
    )
    return Pair(pem(certificate), key_pem(key))


def ends_at(reply: CertificateReply) -> datetime:
    return datetime.fromtimestamp(reply.ends_at, UTC)

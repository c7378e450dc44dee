"""The authority of the agents' port: it signs that port, and the nodes and gateways that call it.

Its key is in the database, sealed, so that every process of the control plane has the same. A new
one is made long before the old ends, and signs only when every agent has learned of it with the
renewal of a certificate: nobody has to be told by hand.
"""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import UniformResourceIdentifier
from django.conf import settings
from django.db import IntegrityError, transaction

from controlplane.core import vault
from controlplane.core.certificates import (
    CLIENT,
    SERVER,
    Signer,
    hosts,
    key_pem,
    pem,
    public_key_of,
    requested_key,
)
from controlplane.nodes.errors import AuthorityUnreadable
from controlplane.nodes.models import Authority
from wire.messages import CertificateReply

PURPOSE: Final = "agents-authority"
AUTHORITY_LIFE: Final = timedelta(days=3650)
CERTIFICATE_LIFE: Final = timedelta(days=30)
# Longer than any certificate lives, so that whoever has one has learned of the next authority.
KNOWN_BEFORE: Final = timedelta(days=60)
REPLACED_BEFORE: Final = timedelta(days=365)
LONGEST_CSR: Final = 8192  # characters


@dataclass(frozen=True, slots=True)
class Pair:
    certificate: str  # PEM
    key: str  # PEM


def authorities_ensure(now: datetime) -> list[Authority]:
    """Those that have not ended, the oldest first; makes the first, and in time the next."""
    valid = list(Authority.objects.filter(ends_at__gt=now).order_by("number"))
    if valid and valid[-1].ends_at - now > REPLACED_BEFORE:
        return valid
    made = Signer.new("Shoal agents' authority", now=now, life=AUTHORITY_LIFE)
    # why suppressed: another process was first, and its authority is as good
    with contextlib.suppress(IntegrityError), transaction.atomic():
        _keep(made, signs_from=now + KNOWN_BEFORE if valid else now)
    return list(Authority.objects.filter(ends_at__gt=now).order_by("number"))


def authority_adopt(certificate: str, key: str, now: datetime) -> None:
    """Let this pair (PEM) be the first authority, so that gateways and nodes can be told of it
    before anything runs. Once more, or renewed with the same key: nothing happens.

    Raises ValueError: it is none that signs, or there is another one already.
    """
    given = Signer.from_pem(certificate.encode(), key.encode())
    given.check(now)
    valid = Authority.objects.filter(ends_at__gt=now).order_by("number")
    known = [public_key_of(row.certificate) for row in valid]
    if public_key_of(certificate) in known:
        return
    if known:
        raise ValueError(
            "another authority signs here already, and agents trust that one. Give the key of "
            "before, or none"
        )
    _keep(given, signs_from=now)


def _keep(made: Signer, *, signs_from: datetime) -> None:
    newest = Authority.objects.order_by("-number").values_list("number", flat=True).first() or 0
    Authority.objects.create(
        number=newest + 1,
        certificate=pem(made.certificate),
        sealed_key=vault.seal(PURPOSE, key_pem(made.key)),
        signs_from=signs_from,
        ends_at=made.certificate.not_valid_after_utc,
    )


def authorities_pem(now: datetime) -> str:
    """All that agents should trust."""
    return "".join(row.certificate for row in authorities_ensure(now))


def authority_pem(now: datetime) -> str:
    """The one that signs now: what join tokens name."""
    return _signing(now).certificate


def client_certificate(who: str, csr: str, now: datetime) -> CertificateReply:
    """For ``node/<id>`` or ``gateway/<name>``. Raises ValueError: what the request should be."""
    if len(csr) > LONGEST_CSR:
        raise ValueError(f"expected at most {LONGEST_CSR} characters, got {len(csr)}")
    certificate = _signer(now).signed(
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
    certificate = _signer(now).signed(
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


def _signing(now: datetime) -> Authority:
    rows = authorities_ensure(now)
    return next((row for row in reversed(rows) if row.signs_from <= now), rows[0])


def _signer(now: datetime) -> Signer:
    """Raises AuthorityUnreadable."""
    row = _signing(now)
    try:
        key = vault.unseal(PURPOSE, row.sealed_key)
    except vault.InvalidToken as error:
        raise AuthorityUnreadable(
            f"The key of {row} was sealed with another SHOAL_SECRET_KEY."
        ) from error
    return Signer.from_pem(row.certificate.encode(), key.encode())

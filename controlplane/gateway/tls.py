"""The certificate that Envoy shows to clients, in its folder; needs no Django.

The control plane signs it (``serving_certificate``), or an operator puts one there. Until either
has happened the gateway shows one that it signed itself.
"""

import os
import socket
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.core.certificates import SERVER, Signer, hosts, key_pem, named, pem, self_signed

# The subject of what was made for a gateway by Shoal: a certificate of any other is an operator's.
SUBJECT = "Shoal gateway"
CERTIFICATE_LIFE = timedelta(days=397)  # the longest that browsers accept
RENEW_BEFORE = timedelta(days=30)


class Source(StrEnum):
    INSTALLATION = "installation"
    SUPPLIED = "supplied"
    SELF = "self"  # or by an authority of its own, as gateways did before


def ensure(folder: Path, names: tuple[str, ...] = (), *, now: datetime | None = None) -> bool:
    """Have a certificate to begin with; True when one was made.

    One that this gateway signed itself is made anew when it is close to its end or lacks one of
    ``names``. Others stay: they are renewed by whoever signed them.
    """
    now = now or datetime.now(UTC)
    wanted = with_local_names(names)
    certificate = shown(folder)
    if certificate is not None and (
        source(folder) is not Source.SELF
        or not (_ends_soon(certificate, now) or lacks(certificate, wanted))
    ):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "ca.key").exists():
        _sign_by_own_authority(folder, wanted, now)
    else:
        _sign_itself(folder, wanted, now)
    return True


def source(folder: Path) -> Source:
    """Of the certificate that is there."""
    certificate = shown(folder)
    if certificate is None or (certificate.subject == named(SUBJECT) and _own(certificate, folder)):
        return Source.SELF
    return Source.INSTALLATION if certificate.subject == named(SUBJECT) else Source.SUPPLIED


def _own(certificate: x509.Certificate, folder: Path) -> bool:
    return certificate.issuer == certificate.subject or (folder / "ca.key").exists()


def shown(folder: Path) -> x509.Certificate | None:
    """What Envoy shows. Raises ValueError: it is none."""
    return _load(folder / "gateway.pem")


def own_authority(folder: Path) -> x509.Certificate | None:
    """Of a gateway that was set up by a version in which each had one."""
    return _load(folder / "ca.pem") if (folder / "ca.key").exists() else None


def with_local_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("localhost", "127.0.0.1", "::1", socket.gethostname(), *names)))


def lacks(certificate: x509.Certificate, names: tuple[str, ...]) -> bool:
    """Whether any of the names is not in it."""
    try:
        san = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return True
    return not set(hosts(names)) <= set(san)


def signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def put(folder: Path, key: ec.EllipticCurvePrivateKey, chain: str, trusted: str) -> None:
    """Let Envoy show this chain (PEM), whose first certificate is of this key."""
    folder.mkdir(parents=True, exist_ok=True)
    # why the key first: Envoy re-reads the pair on changes and keeps the old until they match
    _write_private(folder / "gateway.key", key_pem(key))
    _write(folder / "gateway.pem", chain)
    trust(folder, trusted)
    (folder / "ca.key").unlink(missing_ok=True)


def trust(folder: Path, trusted: str) -> None:
    """Let ``ca.pem`` say whom clients should trust."""
    file = folder / "ca.pem"
    if not file.exists() or file.read_text() != trusted:
        _write(file, trusted)


def _load(file: Path) -> x509.Certificate | None:
    return x509.load_pem_x509_certificate(file.read_bytes()) if file.exists() else None


def _ends_soon(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc - now < RENEW_BEFORE


def _sign_itself(folder: Path, names: tuple[str, ...], now: datetime) -> None:
    before = shown(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    made = pem(self_signed(SUBJECT, key, hosts(names), now=now, life=CERTIFICATE_LIFE))
    _write_private(folder / "gateway.key", key_pem(key))
    _write(folder / "gateway.pem", made)
    # why not always: beside a control plane the file may name the installation's authority already
    if not (folder / "ca.pem").exists() or _load(folder / "ca.pem") == before:
        _write(folder / "ca.pem", made)


def _sign_by_own_authority(folder: Path, names: tuple[str, ...], now: datetime) -> None:
    """Raises ValueError: its key is not one."""
    try:
        signer = Signer.from_pem((folder / "ca.pem").read_bytes(), (folder / "ca.key").read_bytes())
    except ValueError as error:
        raise ValueError(f"{folder / 'ca.key'}: {error}") from error
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = signer.signed(
        SUBJECT,
        key.public_key(),
        usage=SERVER,
        alternatives=hosts(names),
        now=now,
        life=CERTIFICATE_LIFE,
    )
    _write_private(folder / "gateway.key", key_pem(key))
    _write(folder / "gateway.pem", pem(certificate))


def _write(file: Path, content: str) -> None:
    temporary = file.with_name(f".{file.name}.new")
    temporary.write_text(content)
    temporary.replace(file)


def _write_private(file: Path, content: str) -> None:
    temporary = file.with_name(f".{file.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(content)
    temporary.replace(file)

"""The local certificate authority and the gateway's certificate, renewed before they end."""

import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.core.certificates import SERVER, Signer, hosts, key_pem, pem

AUTHORITY_LIFE = timedelta(days=3650)
CERTIFICATE_LIFE = timedelta(days=397)  # the longest that browsers accept
RENEW_BEFORE = timedelta(days=30)


def ensure(folder: Path, names: tuple[str, ...] = (), *, now: datetime | None = None) -> bool:
    """Make what is missing, close to its end or lacks one of ``names``; True when it did.

    An operator's own ``gateway.pem`` and ``gateway.key``, without a ``ca.key`` beside them, stay.
    """
    now = now or datetime.now(UTC)
    if (folder / "gateway.pem").exists() and not (folder / "ca.key").exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    wanted = _with_local_names(names)
    authority = _load(folder / "ca.pem")
    certificate = _load(folder / "gateway.pem")
    renew_authority = authority is None or _ends_soon(authority, now)
    if renew_authority:
        _make_authority(folder, now)
    elif (
        certificate is not None
        and not _ends_soon(certificate, now)
        and _covers(certificate, wanted)
    ):
        return False
    _make_certificate(folder, wanted, now)
    return True


def _with_local_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("localhost", "127.0.0.1", "::1", socket.gethostname(), *names)))


def _load(file: Path) -> x509.Certificate | None:
    return x509.load_pem_x509_certificate(file.read_bytes()) if file.exists() else None


def _ends_soon(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc - now < RENEW_BEFORE


def _covers(certificate: x509.Certificate, names: tuple[str, ...]) -> bool:
    san = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(hosts(names)) <= set(san)


def _make_authority(folder: Path, now: datetime) -> None:
    signer = Signer.new("Shoal local authority", now=now, life=AUTHORITY_LIFE)
    _write_private(folder / "ca.key", key_pem(signer.key))
    _write(folder / "ca.pem", pem(signer.certificate))


def _make_certificate(folder: Path, names: tuple[str, ...], now: datetime) -> None:
    try:
        signer = Signer.from_pem((folder / "ca.pem").read_bytes(), (folder / "ca.key").read_bytes())
    except ValueError as error:
        raise ValueError(f"{folder / 'ca.key'}: {error}") from error
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = signer.signed(
        "Shoal gateway",
        key.public_key(),
        usage=SERVER,
        alternatives=hosts(names),
        now=now,
        life=CERTIFICATE_LIFE,
    )
    # why: the key first; Envoy re-reads the pair on changes and keeps the old until they match.
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

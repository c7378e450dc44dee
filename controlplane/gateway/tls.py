"""The local certificate authority and the gateway's certificate, renewed before they end."""

import ipaddress
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=3650)
CERTIFICATE_LIFE = timedelta(days=397)  # the longest that browsers accept
RENEW_BEFORE = timedelta(days=30)
CLOCK_SKEW = timedelta(hours=1)


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
    return set(_general_names(names)) <= set(san)


def _general_names(names: tuple[str, ...]) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


def _make_authority(folder: Path, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Shoal local authority")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_private(folder / "ca.key", _key_bytes(key))
    _write(folder / "ca.pem", certificate.public_bytes(serialization.Encoding.PEM))


def _make_certificate(folder: Path, names: tuple[str, ...], now: datetime) -> None:
    authority = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
    authority_key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    if not isinstance(authority_key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{folder / 'ca.key'}: expected an elliptic-curve key, as made by Shoal.")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Shoal gateway")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(min(now + CERTIFICATE_LIFE, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_general_names(names)), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    # why: the key first; Envoy re-reads the pair on changes and keeps the old until they match.
    _write_private(folder / "gateway.key", _key_bytes(key))
    _write(folder / "gateway.pem", certificate.public_bytes(serialization.Encoding.PEM))


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(file: Path, content: bytes) -> None:
    temporary = file.with_name(f".{file.name}.new")
    temporary.write_bytes(content)
    temporary.replace(file)


def _write_private(file: Path, content: bytes) -> None:
    temporary = file.with_name(f".{file.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    temporary.replace(file)

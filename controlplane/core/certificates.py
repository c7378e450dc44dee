"""Keys, authorities and what they sign. What is made here is P-256. Needs no Django."""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SKEW = timedelta(hours=1)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


@dataclass(frozen=True, slots=True)
class Signer:
    """An authority with the key that it signs with."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

    @classmethod
    def new(cls, name: str, *, now: datetime, life: timedelta) -> "Signer":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = named(name)
        certificate = (
            _unsigned(subject, subject, key.public_key(), now=now, ends_at=now + life)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def from_pem(cls, certificate: bytes, key: bytes) -> "Signer":
        """Raises ValueError for another kind of key, or none that can be read."""
        try:
            loaded = serialization.load_pem_private_key(key, None)
        except (TypeError, UnsupportedAlgorithm) as error:
            raise ValueError(f"expected a key without a password: {error}") from error
        if not isinstance(loaded, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise ValueError("expected an elliptic-curve or RSA key")
        return cls(x509.load_pem_x509_certificate(certificate), loaded)

    def check(self, now: datetime) -> None:
        """Raises ValueError: what keeps it from being an authority at ``now``."""
        if self.certificate.public_key() != self.key.public_key():
            raise ValueError("expected the key of this certificate, not another one")
        if not self.certificate.not_valid_before_utc <= now < self.certificate.not_valid_after_utc:
            raise ValueError("expected a certificate that is valid now")
        try:
            signs = self.certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        except x509.ExtensionNotFound:
            raise ValueError("expected the certificate of an authority (CA:TRUE)") from None
        if not signs.value.ca:
            raise ValueError("expected the certificate of an authority (CA:TRUE)")

    def signed(
        self,
        name: str,
        public_key: ec.EllipticCurvePublicKey,
        *,
        usage: x509.ObjectIdentifier,
        alternatives: Sequence[x509.GeneralName],
        now: datetime,
        life: timedelta,
    ) -> x509.Certificate:
        """For ``CLIENT`` or ``SERVER``; ends with the authority at the latest."""
        ends_at = min(now + life, self.certificate.not_valid_after_utc)
        return (
            _unsigned(named(name), self.certificate.subject, public_key, now=now, ends_at=ends_at)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
            .sign(self.key, hashes.SHA256())
        )


def self_signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    alternatives: Sequence[x509.GeneralName],
    *,
    now: datetime,
    life: timedelta,
) -> x509.Certificate:
    """For a server whom nobody has signed yet; it signs nothing but itself."""
    return (
        _unsigned(named(name), named(name), key.public_key(), now=now, ends_at=now + life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([SERVER]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, hashes.SHA256())
    )


def public_key_of(certificate: str) -> bytes:
    """The key of this certificate (PEM), DER."""
    return (
        x509.load_pem_x509_certificate(certificate.encode())
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def hosts(names: Iterable[str]) -> list[x509.GeneralName]:
    """Addresses as addresses, all else as DNS names."""
    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def key_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    """Not encrypted: whoever keeps it seals it, or has a file for one user."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def request_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """A request to sign this key; whom for is said otherwise."""
    unsigned = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return unsigned.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def requested_key(csr: str) -> ec.EllipticCurvePublicKey:
    """The key of a request, which its owner has signed with. Raises ValueError, with the reason.

    Nothing else of the request is read: what a certificate says is for who signs it to say.
    """
    try:
        request = x509.load_pem_x509_csr(csr.encode())
        key = request.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"expected a PKCS #10 request as PEM: {error}") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("expected a key on the curve P-256")
    if not request.is_signature_valid:
        raise ValueError("expected a request that is signed with its own key")
    return key


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    *,
    now: datetime,
    ends_at: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(ends_at)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


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

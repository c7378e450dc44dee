"""Certificate authorities made on the spot, and what they sign."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = datetime.timedelta(days=1)
PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Signed:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(PEM).decode()

    def files(self, folder: Path) -> Path:
        """One file of the key and the certificate."""
        file = folder / f"{self.certificate.serial_number}.pem"
        key = self.key.private_bytes(
            PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(key + self.pem.encode())
        return file

    def context(self, folder: Path) -> ssl.SSLContext:
        """For a server that shows this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.files(folder))
        return context

    def signs(self, address: str) -> "Signed":
        """A server's certificate for an IP address or a name."""
        try:
            name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(address))
        except ValueError:
            name = x509.DNSName(address)
        return _made("server", self, x509.SubjectAlternativeName([name]))


def certificate_authority(name: str = "authority") -> Signed:
    return _made(name, None, None)


def _made(name: str, by: Signed | None, names: x509.SubjectAlternativeName | None) -> Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    constraints = x509.BasicConstraints(ca=by is None, path_length=None)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LIFETIME)
        .not_valid_after(now + LIFETIME)
        .add_extension(constraints, critical=True)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return Signed(builder.sign(by.key if by else key, hashes.SHA256()), key)

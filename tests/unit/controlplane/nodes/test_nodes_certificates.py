"""Nodes prove themselves by certificates: who gets one, what it opens, and how authorities end."""

import hashlib
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core.authorities import AuthorityUnreadable
from controlplane.core.certificates import request_pem
from controlplane.nodes import authority, services
from controlplane.nodes.errors import CertificateRequestRefused, NodeUnknown
from controlplane.nodes.models import Authority, Node
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
NOW = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)


def bearer(node: SimulatedNode) -> str:
    return f"Bearer {node.identity.credential}"


def row(node: SimulatedNode) -> Node:
    return Node.objects.get(pk=node.identity.node_id)


def csr() -> str:
    return request_pem(ec.generate_private_key(ec.SECP256R1()))


def test_a_token_names_who_signs_the_agents_port(admin_api: APIClient, settings: Settings) -> None:
    settings.SHOAL_AGENT_URL = "https://control.example:8445"
    made = admin_api.post("/api/v1/join-tokens").json()
    answer = APIClient().get("/agent/v1/ca")
    der = ssl.PEM_cert_to_DER_cert(answer.content.decode())
    assert made["fingerprint"] == hashlib.sha256(der).hexdigest()
    assert made["token"].endswith(f".{made['fingerprint']}")
    assert "SHOAL_CONTROL_URL=https://control.example:8445 " in made["command"]


def test_a_credential_alone_opens_nothing_once_a_certificate_was_shown() -> None:
    node = SimulatedNode()
    me = f"node/{node.identity.node_id}"

    def admitted(certificate: str) -> Node:
        return services.node_admitted(
            authorization=bearer(node), certificate=certificate, now=timezone.now()
        )

    assert admitted("") == row(node)  # it has none yet, and asks for one
    services.node_certificate(node=row(node), csr=csr(), now=NOW)
    assert admitted("") == row(node)  # nor has it shown it: the port may be closed to it
    assert row(node).certificate_ends_at == NOW + authority.CERTIFICATE_LIFE
    assert admitted(me) == row(node)
    assert row(node).certified_at is not None
    with pytest.raises(NodeUnknown, match="its credential alone is not enough"):
        admitted("")
    assert admitted(me) == row(node)


@pytest.mark.parametrize("certificate", ["node/", "node/other", "gateway/n1", "node", "x/node"])
def test_the_certificate_must_be_of_the_node_of_the_credential(certificate: str) -> None:
    node = SimulatedNode()
    with pytest.raises(NodeUnknown, match="certificate of this connection"):
        services.node_admitted(
            authorization=bearer(node), certificate=certificate, now=timezone.now()
        )


def test_a_certificate_without_the_credential_opens_nothing() -> None:
    node = SimulatedNode()
    for authorization in ("", "Bearer ", f"Basic {node.identity.credential}", "Bearer snode_x_y"):
        with pytest.raises(NodeUnknown, match="credential is not valid"):
            services.node_admitted(
                authorization=authorization,
                certificate=f"node/{node.identity.node_id}",
                now=timezone.now(),
            )


def test_no_header_stands_for_a_certificate() -> None:
    node = SimulatedNode()
    Node.objects.update(certified_at=NOW)
    me = f"node/{node.identity.node_id}"
    for name in ("HTTP_SHOAL_CERTIFICATE", "HTTP_X_FORWARDED_CLIENT_CERT", "HTTP_X_CLIENT_CERT"):
        assert node.client.get("/agent/v1/desired", **{name: me}).status_code == 401


def test_joining_again_forgets_the_certificates_of_before() -> None:
    node = SimulatedNode()
    Node.objects.update(certified_at=NOW, certificate_ends_at=NOW)
    Node.objects.update(last_seen_at=NOW - timedelta(days=1))
    again = SimulatedNode()
    assert again.identity.node_id == node.identity.node_id
    assert (row(again).certified_at, row(again).certificate_ends_at) == (None, None)


def test_what_is_signed_names_the_node_whatever_the_request_says() -> None:
    node = SimulatedNode()
    key = ec.generate_private_key(ec.SECP256R1())
    wanted = x509.SubjectAlternativeName([x509.UniformResourceIdentifier("shoal:node/other")])
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(wanted, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = request.public_bytes(serialization.Encoding.PEM).decode()
    reply = services.node_certificate(node=row(node), csr=text, now=NOW)
    made = x509.load_pem_x509_certificate(reply.certificate.encode())
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [name.value for name in names] == [f"shoal:node/{node.identity.node_id}"]
    assert made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    usage = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [authority.CLIENT]
    assert made.not_valid_after_utc == NOW + authority.CERTIFICATE_LIFE


def spoiled_csr() -> str:
    lines = csr().splitlines()
    lines[2] = lines[2][::-1]
    return "\n".join(lines)


def rsa_csr() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    signed = request.sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: "", "PKCS #10"),
        (lambda: "-----BEGIN CERTIFICATE REQUEST-----\n!\n-----END", "PKCS #10"),
        (lambda: "\ud800", "PKCS #10"),
        (lambda: csr() + "x" * 9000, "at most 8192 characters"),
        (spoiled_csr, "expected a"),
        (rsa_csr, "curve P-256"),
    ],
)
def test_what_cannot_be_signed_is_refused_with_what_was_expected(
    made: Callable[[], str], expected: str
) -> None:
    node = SimulatedNode()
    with pytest.raises(CertificateRequestRefused, match=expected):
        services.node_certificate(node=row(node), csr=made(), now=NOW)
    assert row(node).certificate_ends_at is None


def test_authorities_follow_one_another_without_anybody_being_told() -> None:
    """The next is known to every agent for longer than any certificate lives before it signs."""
    [first] = authority.AUTHORITIES.ensure(NOW)
    assert authority.AUTHORITIES.ensure(NOW) == [first]
    soon = first.ends_at - authority.REPLACED_BEFORE + timedelta(days=1)
    assert [one.number for one in authority.AUTHORITIES.ensure(soon)] == [1, 2]
    reply = authority.client_certificate("node/a", csr(), soon)
    assert reply.authority.count("BEGIN CERTIFICATE") == 2
    assert _signed_by(reply.certificate, Authority.objects.get(number=1))
    later = soon + authority.KNOWN_BEFORE
    reply = authority.client_certificate("node/a", csr(), later)
    assert _signed_by(reply.certificate, Authority.objects.get(number=2))
    assert [one.number for one in authority.AUTHORITIES.ensure(first.ends_at)] == [2]
    assert authority.KNOWN_BEFORE > authority.CERTIFICATE_LIFE


def _signed_by(certificate: str, signer: Authority) -> bool:
    made = x509.load_pem_x509_certificate(certificate.encode())
    try:
        made.verify_directly_issued_by(x509.load_pem_x509_certificate(signer.certificate.encode()))
    except (ValueError, InvalidSignature):
        return False
    return True


def test_the_key_of_an_authority_is_sealed(settings: Settings) -> None:
    [made] = authority.AUTHORITIES.ensure(NOW)
    assert "PRIVATE KEY" not in made.sealed_key
    settings.SECRET_KEY = "another"
    with pytest.raises(AuthorityUnreadable, match="another SHOAL_SECRET_KEY"):
        authority.client_certificate("node/a", csr(), NOW)

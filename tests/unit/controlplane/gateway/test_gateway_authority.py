"""One authority for what all gateways show: who signs, whom clients trust, how both change."""

import ssl
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from rest_framework.test import APIClient

from controlplane.core.certificates import Signer, key_pem, named, pem, request_pem
from controlplane.core.models import Event
from controlplane.deployments.selectors.shown import addresses
from controlplane.gateway import authority, services, tls
from controlplane.gateway.control_client import ControlPlaneClient, ControlPlaneUnavailable
from controlplane.gateway.models import ServingAuthorityRow
from controlplane.gateway.services import Caller
from controlplane.gateway.serving_certificate import RETRY_S, ServingCertificate
from controlplane.gateway.tls import Source
from controlplane.nodes.errors import CertificateRequestRefused
from tests.support.certificates import certificate_authority
from tests.support.gateway_folder import settings_in
from wire.serving_certificates import (
    ServingAuthority,
    ServingCertificateReply,
    ServingCertificateRequest,
)

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)  # as ssl compares with the machine's clock
NAME = "scoring.example"


@pytest.fixture(autouse=True)
def _installation(settings: Any, tmp_path: Path) -> None:
    settings.SHOAL_TLS_DIR = tmp_path / "control"
    settings.SHOAL_GATEWAY_URL = f"https://{NAME}"


@dataclass
class Direct:
    """What a gateway is told, without HTTP in between."""

    now: datetime = NOW
    asked: int = 0

    def serving_authority(self) -> ServingAuthority:
        return authority.serving_authority(self.now)

    def serving_certificate(self, request: ServingCertificateRequest) -> ServingCertificateReply:
        self.asked += 1
        return services.serving_certificate(caller=Caller("east"), request=request, now=self.now)


class Gateway:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plane = Direct()
        client = cast(ControlPlaneClient, self.plane)
        self.certificate = ServingCertificate(settings_in(folder.parent, tls_dir=folder), client)
        tls.ensure(folder)

    def renew(self, now: datetime = NOW) -> bool:
        self.plane.now = now
        return self.certificate.renew(now)

    @property
    def leaf(self) -> x509.Certificate:
        shown = tls.shown(self.folder)
        assert shown is not None
        return shown

    def believed(self, ca: str, name: str = NAME) -> bool:
        """Whether a client that trusts these certificates takes ours: a handshake in memory."""
        ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ours.load_cert_chain(self.folder / "gateway.pem", self.folder / "gateway.key")
        theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        theirs.load_verify_locations(cadata=ca)
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = ours.wrap_bio(up, down, server_side=True)
        client = theirs.wrap_bio(down, up, server_hostname=name)
        for _ in range(4):
            for side in (client, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                except ssl.SSLCertVerificationError:
                    return False
        return True


@pytest.fixture
def east(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path / "east")


@pytest.fixture
def west(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path / "west")


def test_one_file_verifies_every_gateway(
    east: Gateway, west: Gateway, tmp_path: Path, viewer_api: APIClient
) -> None:
    assert east.renew()
    assert west.renew()
    told = viewer_api.get("/api/v1/ca").json()
    for gateway in (east, west):
        assert gateway.believed(told["certificates"])
        assert not gateway.believed(told["certificates"], "bank.example")
        assert (gateway.folder / "ca.pem").read_text() == told["certificates"]
        served = gateway.certificate.served()
        assert served is not None
        assert served.source == "installation"
    assert [(one["signs"], one["supplied"]) for one in told["items"]] == [(True, False)]
    assert addresses("digits")["ca_path"] == "shoal-ca.pem"  # clients are elsewhere
    assert (tmp_path / "control" / "ca.pem").read_text() == told["certificates"]
    event = Event.objects.filter(verb="gateway.certificate_signed").first()
    assert event is not None
    assert NAME in event.data["names"]


def test_keys_stay_where_they_are_made(east: Gateway) -> None:
    """The control plane has seen a request with a public key, and keeps no other than its own."""
    before = (east.folder / "gateway.key").read_text()
    east.renew()
    assert (east.folder / "gateway.key").read_text() != before
    [row] = ServingAuthorityRow.objects.all()
    assert "PRIVATE KEY" not in row.sealed_key
    assert {path.name for path in east.folder.iterdir()} == {"ca.pem", "gateway.key", "gateway.pem"}


def test_it_is_renewed_before_its_end_and_when_it_lacks_a_name(
    east: Gateway, settings: Any
) -> None:
    east.renew()
    first = east.leaf
    life = authority.CERTIFICATE_LIFE
    assert not east.renew(NOW + life / 2)
    settings.SHOAL_GATEWAY_URL = "https://another.example"
    assert east.renew(NOW + life / 2)
    assert not tls.lacks(east.leaf, ("another.example",))
    second = east.leaf
    assert not east.renew(NOW + life)
    assert east.renew(second.not_valid_after_utc - timedelta(days=29))
    assert first != second != east.leaf
    assert tls.signed_by(east.leaf, authority.trusted(NOW)[0].certificate)


def test_clients_know_the_next_authority_for_a_year_before_it_signs(east: Gateway) -> None:
    east.renew()
    [first] = authority.trusted(NOW)
    ends_at = first.certificate.not_valid_after_utc
    made_at = ends_at - timedelta(days=729)
    east.renew(made_at)
    both = authority.trusted(made_at)
    assert [(one.signs, one.signs_from is None) for one in both] == [(True, True), (False, False)]
    assert (east.folder / "ca.pem").read_text().count("BEGIN CERTIFICATE") == 2
    assert tls.signed_by(east.leaf, first.certificate)
    turn = made_at + timedelta(days=365)
    assert east.renew(turn)
    newest, former = authority.trusted(turn)
    assert former.certificate == first.certificate
    assert tls.signed_by(east.leaf, newest.certificate)
    assert [one.certificate for one in authority.trusted(ends_at)] == [newest.certificate]


def supplied(
    folder: Path, settings: Any, *, intermediate: bool, key: Any = None
) -> x509.Certificate:
    """An organisation's authority, by setting; the certificate that its clients trust."""
    root = Signer.new("Corp root", now=NOW, life=timedelta(days=900))
    root = replace(root, certificate=_authority("Corp root", root.key, root))
    signer = root
    if intermediate:
        own = key or ec.generate_private_key(ec.SECP256R1())
        signer = Signer(_authority("Corp issuing", own, root), own)
    chain = [signer.certificate] + ([root.certificate] if intermediate else [])
    (folder / "corp.pem").write_text("".join(map(pem, chain)))
    (folder / "corp.key").write_text(key_pem(signer.key))
    settings.SHOAL_GATEWAY_CA_FILE = str(folder / "corp.pem")
    settings.SHOAL_GATEWAY_CA_KEY_FILE = str(folder / "corp.key")
    return root.certificate


def _authority(name: str, key: Any, by: Signer) -> x509.Certificate:
    issuer = by.certificate.subject
    builder = x509.CertificateBuilder(issuer, named(name), key.public_key())
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(hours=1))
        .not_valid_after(NOW + timedelta(days=900))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(by.key, hashes.SHA256())
    )


@pytest.mark.parametrize("kind", ["root", "intermediate", "rsa"])
def test_an_organisation_s_own_authority_signs_instead(
    east: Gateway, west: Gateway, tmp_path: Path, settings: Any, viewer_api: APIClient, kind: str
) -> None:
    west.renew()  # by ours: it changes when it looks again
    ours = (west.folder / "ca.pem").read_text()
    key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else None
    root = supplied(tmp_path, settings, intermediate=kind != "root", key=key)
    for gateway in (east, west):
        assert gateway.renew()
        assert not gateway.renew()
        assert gateway.believed(pem(root))
    told = viewer_api.get("/api/v1/ca").json()
    assert [(one["supplied"], one["signs"]) for one in told["items"]] == [
        (True, True),
        (False, False),
    ]
    assert told["certificates"] == pem(root) + ours


@pytest.mark.parametrize(
    ("break_it", "expected"),
    [
        (lambda folder: (folder / "corp.pem").write_text("x"), "corp.pem"),
        (lambda folder: (folder / "corp.key").unlink(), "corp.key"),
        (
            lambda folder: (folder / "corp.key").write_text(
                key_pem(ec.generate_private_key(ec.SECP256R1()))
            ),
            "the key of this certificate",
        ),
        (
            lambda folder: (folder / "corp.pem").write_text(
                (folder / "corp.pem").read_text().split("-----END")[0] + "-----END CERTIFICATE-----"
            ),
            "up to a self-signed",
        ),
    ],
)
def test_a_supplied_one_that_cannot_sign_is_told_and_nothing_else_steps_in(
    east: Gateway, tmp_path: Path, settings: Any, break_it: Any, expected: str
) -> None:
    supplied(tmp_path, settings, intermediate=True)
    break_it(tmp_path)
    with pytest.raises(authority.SuppliedAuthorityUnusable, match=expected):
        east.plane.serving_authority()
    assert not ServingAuthorityRow.objects.exists()


def test_an_operator_s_certificate_stays(east: Gateway) -> None:
    own = certificate_authority().signs("127.0.0.1")
    (east.folder / "gateway.pem").write_text(own.pem)
    assert not east.renew()
    assert (east.plane.asked, (east.folder / "gateway.pem").read_text()) == (0, own.pem)
    served = east.certificate.served()
    assert served is not None
    assert served.source == "supplied"


def of_before(folder: Path) -> Signer:
    """A gateway that was set up when each had an authority of its own."""
    signer = Signer.new("Shoal local authority", now=NOW, life=timedelta(days=3650))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ca.pem").write_text(pem(signer.certificate))
    (folder / "ca.key").write_text(key_pem(signer.key))
    return signer


def test_an_installation_of_one_gateway_goes_on_with_the_authority_that_clients_trust(
    tmp_path: Path,
) -> None:
    signer = of_before(tmp_path / "control")
    east = Gateway(tmp_path / "control")
    assert east.believed(pem(signer.certificate), "localhost")
    authority.local_authority_adopt(NOW)
    assert east.renew()
    assert east.believed(pem(signer.certificate))
    assert not (tmp_path / "control" / "ca.key").exists()
    authority.local_authority_adopt(NOW)  # at each start


def test_a_gateway_elsewhere_keeps_its_own_until_somebody_takes_that_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    signer = of_before(tmp_path / "west")
    west = Gateway(tmp_path / "west")
    assert not west.renew()
    assert west.believed(pem(signer.certificate), "localhost")
    assert "shoal gateway ca" in caplog.text
    assert tls.source(west.folder) is Source.SELF
    (west.folder / "ca.key").unlink()
    assert west.renew()
    assert west.believed((west.folder / "ca.pem").read_text())


@pytest.mark.parametrize(
    ("csr", "names", "expected"),
    [
        ("", ["a"], "PKCS #10"),
        ("x" * 9000, ["a"], "8192"),
        (None, ["a b"], "host name"),
        (None, [""], "host name"),
        (None, ["bücher.example"], "host name"),
        (None, ["https://a"], "host name"),
        (None, ["*"], "host name"),
        (None, ["*.com."], "host name"),
        (None, [f"n{number}" for number in range(64)], "at most 64"),
    ],
)
def test_what_cannot_be_signed_is_refused(csr: str | None, names: list[str], expected: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    wanted = ServingCertificateRequest(
        csr=request_pem(key) if csr is None else csr, names=tuple(names)
    )
    with pytest.raises(CertificateRequestRefused, match=expected):
        services.serving_certificate(caller=Caller("east"), request=wanted, now=NOW)
    assert not Event.objects.exists()


def test_a_certificate_for_another_key_is_not_put_before_envoy(east: Gateway) -> None:
    before = (east.folder / "gateway.pem").read_text()
    reply = east.plane.serving_certificate(
        ServingCertificateRequest(request_pem(ec.generate_private_key(ec.SECP256R1())), ("a",))
    )
    east.plane.serving_certificate = lambda _: reply  # type: ignore[method-assign]
    with pytest.raises(ControlPlaneUnavailable, match="another key"):
        east.renew()
    assert (east.folder / "gateway.pem").read_text() == before


def test_what_fails_is_said_once_and_tried_again(
    east: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    (east.folder / "gateway.pem").write_text("damaged")
    assert [east.certificate.look(), east.certificate.look()] == [RETRY_S, RETRY_S]
    assert caplog.text.count("was not renewed") == 1
    assert east.certificate.served() is None


def test_the_authority_of_agents_is_another_one(east: Gateway) -> None:
    """Whoever is in clients' trust stores opens nothing at the agents' port, and the reverse."""
    from controlplane.nodes.authority import authorities_pem

    east.renew()
    ours = (east.folder / "ca.pem").read_text()
    assert not east.believed(authorities_pem(NOW))
    assert ours not in authorities_pem(NOW)

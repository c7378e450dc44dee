"""Join tokens name the certificate that agents must find."""

import hashlib
import ssl
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.config import env
from controlplane.nodes import services
from controlplane.nodes.types import trust_of
from tests.support.certificates import certificate_authority
from wire.messages import NodeInfo, RegisterRequest


@pytest.mark.parametrize(
    ("url", "fingerprint", "trust"),
    [
        ("https://studio.example", "ab", "pinned"),
        ("https://studio.example", "", "public"),
        ("http://127.0.0.1:8080", "", "local"),
        ("http://[::1]:8080", "", "local"),
        ("http://localhost", "", "local"),
        ("http://10.0.0.1:8080", "", "plain"),
        ("http://studio", "", "plain"),
    ],
)
def test_how_an_agent_knows_us(url: str, fingerprint: str, trust: str) -> None:
    assert trust_of(url, fingerprint) == trust


@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_token_names_what_signed_our_certificate(
    admin_api: APIClient, settings: Settings
) -> None:
    pem = certificate_authority().pem
    fingerprint = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    settings.SHOAL_PUBLIC_CA = pem
    settings.SHOAL_PUBLIC_URL = "http://127.0.0.1:8080"
    plain = admin_api.post("/api/v1/join-tokens").json()
    assert (plain["trust"], plain["fingerprint"], "." in plain["token"]) == ("local", "", False)
    settings.SHOAL_PUBLIC_URL = "https://studio.example"
    made = admin_api.post("/api/v1/join-tokens").json()
    assert (made["trust"], made["fingerprint"]) == ("pinned", fingerprint)
    assert made["token"].endswith(f".{fingerprint}")
    assert made["token"].startswith(made["prefix"])
    answer = APIClient().get("/agent/v1/ca")
    assert (answer.status_code, answer.content.decode()) == (200, pem)
    info = NodeInfo(name="pinned", agent_version="test")
    request = RegisterRequest(made["token"], info)
    assert services.node_register(request=request, now=timezone.now()).credential
    settings.SHOAL_PUBLIC_CA = ""
    assert APIClient().get("/agent/v1/ca").status_code == 404
    assert admin_api.post("/api/v1/join-tokens").json()["trust"] == "public"


def test_the_file_of_the_authority_must_hold_a_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    monkeypatch.setenv("SHOAL_PUBLIC_CA_FILE", str(file))
    for content in (None, "nothing", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"):
        if content is not None:
            file.write_text(content)
        with pytest.raises(ImproperlyConfigured, match=r"SHOAL_PUBLIC_CA_FILE=.*PEM certificate"):
            env.certificate("SHOAL_PUBLIC_CA_FILE")
    pem = certificate_authority().pem
    file.write_text(f"# ours\n{pem}{certificate_authority().pem}")
    assert env.certificate("SHOAL_PUBLIC_CA_FILE") == pem
    monkeypatch.delenv("SHOAL_PUBLIC_CA_FILE")
    assert env.certificate("SHOAL_PUBLIC_CA_FILE") == ""

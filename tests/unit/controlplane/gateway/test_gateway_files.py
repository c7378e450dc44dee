"""The gateway's folder: certificates, bootstrap, settings."""

import json
import re
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from controlplane.core.certificates import Signer, key_pem, pem
from controlplane.gateway import tls
from controlplane.gateway.bootstrap import admin_socket, describe, prepare
from controlplane.gateway.fallback import answer, route_config
from controlplane.gateway.settings import GatewaySettings, SettingsError, load
from controlplane.gateway.tls import Source
from controlplane.gateway.tracing import collector
from controlplane.gateway.xds import XdsFolder
from tests.support.certificates import certificate_authority
from tests.support.gateway_folder import settings_in

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def gateway_settings(tmp_path: Path) -> GatewaySettings:
    return settings_in(tmp_path, token="")


AUTHORITY = pem(Signer.new("installation", now=NOW, life=timedelta(days=9)).certificate)


def own_authority(folder: Path) -> Signer:
    signer = Signer.new("Shoal local authority", now=NOW, life=timedelta(days=3650))
    (folder / "ca.pem").write_text(pem(signer.certificate))
    (folder / "ca.key").write_text(key_pem(signer.key))
    return signer


def certificate(folder: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / "gateway.pem").read_bytes())


def test_until_somebody_signs_it_a_gateway_signs_itself(tmp_path: Path) -> None:
    assert tls.ensure(tmp_path, now=NOW)
    first = certificate(tmp_path)
    assert tls.source(tmp_path) is Source.SELF
    assert (tmp_path / "ca.pem").read_bytes() == (tmp_path / "gateway.pem").read_bytes()
    san = first.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in san.get_values_for_type(x509.DNSName)
    assert stat.S_IMODE((tmp_path / "gateway.key").stat().st_mode) == 0o600
    assert not tls.ensure(tmp_path, now=NOW)
    assert certificate(tmp_path) == first
    later = NOW + timedelta(days=380)
    assert tls.ensure(tmp_path, now=later)
    assert certificate(tmp_path).not_valid_after_utc > later + timedelta(days=300)
    assert (tmp_path / "ca.pem").read_bytes() == (tmp_path / "gateway.pem").read_bytes()


def test_beside_a_control_plane_it_leaves_the_file_that_clients_trust(tmp_path: Path) -> None:
    """Both begin with one data folder, and either may be first."""
    tls.trust(tmp_path, "of the installation\n" + AUTHORITY)
    tls.ensure(tmp_path, now=NOW)
    assert (tmp_path / "ca.pem").read_text() == "of the installation\n" + AUTHORITY


def test_a_gateway_with_an_authority_of_its_own_goes_on_by_it(tmp_path: Path) -> None:
    """As each was set up before all had one together: its clients trust that one."""
    signer = own_authority(tmp_path)
    for now in (NOW, NOW + timedelta(days=380)):
        assert tls.ensure(tmp_path, now=now)
        certificate(tmp_path).verify_directly_issued_by(signer.certificate)
        assert tls.source(tmp_path) is Source.SELF
    assert (tmp_path / "ca.pem").read_text() == pem(signer.certificate)


def test_a_new_name_makes_a_new_certificate(tmp_path: Path) -> None:
    tls.ensure(tmp_path, now=NOW)
    assert tls.ensure(tmp_path, ("gateway.example", "10.1.2.3"), now=NOW)
    san = certificate(tmp_path).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert "gateway.example" in san.value.get_values_for_type(x509.DNSName)


def test_an_operators_own_certificate_is_left_alone(tmp_path: Path) -> None:
    """Beside the key of an authority too, as gateways of before had one."""
    own_authority(tmp_path)
    supplied = certificate_authority().signs("127.0.0.1")
    (tmp_path / "gateway.pem").write_text(supplied.pem)
    assert not tls.ensure(tmp_path, ("another.example",), now=NOW + timedelta(days=5000))
    assert (tmp_path / "gateway.pem").read_text() == supplied.pem
    assert tls.source(tmp_path) is Source.SUPPLIED


def test_preparing_keeps_the_last_routes_and_finds_free_ports(
    gateway_settings: GatewaySettings,
) -> None:
    ready = prepare(gateway_settings)
    assert ready.tls_port != 0
    assert ready.plain_port not in (0, ready.tls_port)
    xds = XdsFolder(gateway_settings.folder / "xds")
    xds.write_routes("scoring", {"name": "scoring", "mine": True})
    prepare(ready)
    assert "mine" in (gateway_settings.folder / "xds" / "rds" / "scoring.json").read_text()
    answer = describe(ready)
    assert answer["argv"][0].endswith("envoy")
    assert json.loads(Path(answer["bootstrap"]).read_text())["node"]["id"] == "test"


def test_keys_in_routes_of_before_become_a_file_of_their_own(
    gateway_settings: GatewaySettings,
) -> None:
    """Envoy starts from these files, maybe long before the control plane answers."""
    xds = XdsFolder(gateway_settings.folder / "xds")
    xds.prepare()
    told = {"envoy.filters.http.lua": {"keys": {"a" * 64: "primary"}}}
    mine = {"shoal": {"endpoint": "digits"}, **told}
    routes = [
        answer({"prefix": "/a"}, 200, "", metadata={"filter_metadata": mine}),
        answer({"prefix": "/b"}, 200, "", metadata={"filter_metadata": told}),  # a preflight's
    ]
    xds.write_routes("scoring", route_config(routes))
    prepare(gateway_settings)
    lines = f"digits {'a' * 64} primary"
    assert lines in (gateway_settings.folder / "xds" / "keys.json").read_text()
    named, nameless, *_ = xds.routes("scoring")["virtual_hosts"][0]["routes"]
    lua = "envoy.filters.http.lua"
    assert named["metadata"]["filter_metadata"][lua] == {"endpoint": "digits", "keys": {}}
    # of whom nobody knows whose it is: no key opens it, rather than every one
    assert nameless["metadata"]["filter_metadata"][lua] == {"endpoint": "", "keys": {}}
    before = (gateway_settings.folder / "xds" / "keys.json").read_text()
    prepare(gateway_settings)
    assert (gateway_settings.folder / "xds" / "keys.json").read_text() == before


def test_a_deep_home_gets_a_short_admin_socket(gateway_settings: GatewaySettings) -> None:
    deep = replace(gateway_settings, home=gateway_settings.home / ("d" * 120))
    assert len(str(admin_socket(deep))) < 100
    assert admin_socket(gateway_settings) != admin_socket(deep)


def test_files_are_versioned_by_content_and_only_written_when_they_change(tmp_path: Path) -> None:
    xds = XdsFolder(tmp_path)
    xds.prepare()
    first = xds.write_clusters([{"name": "b"}, {"name": "a"}])
    inode = (tmp_path / "cds.json").stat().st_ino
    assert xds.write_clusters([{"name": "a"}, {"name": "b"}]) == first
    assert (tmp_path / "cds.json").stat().st_ino == inode
    assert xds.write_clusters([{"name": "a"}]) != first
    assert set(xds.clusters()) == {"a"}


def test_a_port_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_GATEWAY_PORT", "http")
    with pytest.raises(SettingsError, match="SHOAL_GATEWAY_PORT='http'"):
        load()


def test_the_token_comes_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.delenv("SHOAL_GATEWAY_TOKEN", raising=False)
    monkeypatch.setenv("SHOAL_GATEWAY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))
    monkeypatch.setenv("SHOAL_CONTROL_URL", "http://web:8080/")
    found = load()
    assert (found.token, found.control_url) == ("secret", "http://web:8080")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SHOAL_GATEWAY_TRACES_URL", "collector:4318", "http://collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "ftp://collector/v1", "http://collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://me:secret@collector", "http://collector"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector:99999/v1/traces", "a port from 1 to 65535"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector:0/v1/traces", "a port from 1 to 65535"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector:4318", "http://collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://:secret@collector/v1", "collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector/v1?key=secret", "collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://me:secret?a@collector/v1", "collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "me:secret@collector/v1", "URL='…': expected an address as"),
        ("SHOAL_GATEWAY_TRACES_URL", "secret@a://collector/v1", "URL='…': expected an address"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://[collector/v1", "http://collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector/v1#a", "http://collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector/v1 ", "http://collector:4318/v1/traces"),
        ("SHOAL_GATEWAY_TRACES_URL", "http://collector/\nx", "http://collector:4318/v1/traces"),
        ("SSL_CERT_FILE", "/nowhere.pem", "this machine has no file of authorities"),
        ("SHOAL_GATEWAY_TRACES_PERCENT", "101", "from 0 to 100"),
        ("SHOAL_GATEWAY_TRACES_PERCENT", "0.5", "from 0 to 100"),
    ],
)
def test_where_spans_go_is_checked(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_GATEWAY_TRACES_URL", "https://collector/v1/traces")
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=re.escape(said)) as error:
        load()
    assert name in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "kind", "name"),
    [
        ("https://collector.test/v1/traces", "DNS", "collector.test"),
        ("https://10.0.0.9:4318/v1/traces", "IP_ADDRESS", "10.0.0.9"),
        ("https://[fd00::9]/v1/traces", "IP_ADDRESS", "fd00::9"),
    ],
)
def test_a_collector_shows_a_certificate_for_where_it_is(url: str, kind: str, name: str) -> None:
    tls = collector(url, "/authorities.pem")["transport_socket"]["typed_config"]
    (shown,) = tls["common_tls_context"]["validation_context"]["match_typed_subject_alt_names"]
    assert shown == {"san_type": kind, "matcher": {"exact": name}}
    assert ("sni" in tls) == (kind == "DNS"), "an address is no server's name in TLS"

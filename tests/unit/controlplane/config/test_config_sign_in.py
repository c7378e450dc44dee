"""Settings of signing in: what is understood, and what stops the program with its name."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane.accounts.models import User
from controlplane.accounts.providers import ROLES, role_rules_read
from controlplane.config import sign_in

NEEDED = {
    "SHOAL_OIDC_ISSUER": "https://sso.example/realms/corp",
    "SHOAL_OIDC_CLIENT_ID": "studio",
    "SHOAL_OIDC_ROLES": "shoal-admins=admin;*=viewer",
}


@pytest.fixture
def needed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_the_roles_of_settings_are_those_of_accounts() -> None:
    assert list(ROLES) == User.Role.values


@pytest.mark.parametrize(
    ("rules", "groups", "role"),
    [
        ("a=viewer;b=admin", ["a", "b"], "admin"),
        ("b=admin;a=viewer", ["a"], "viewer"),
        ("a=viewer", ["A"], None),
        ("a=viewer", [], None),
        ("ml-*=deployer", ["ml-vision"], "deployer"),
        ("ml-*=deployer", ["xml-vision"], None),
        ("*=viewer; ops=operator", [], "viewer"),
        ("*=viewer; ops=operator", ["ops"], "operator"),
        ("cn=ml,ou=groups,dc=corp=deployer", ["cn=ml,ou=groups,dc=corp"], "deployer"),
        ("/shoal/admins=admin", ["/shoal/admins"], "admin"),
    ],
)
def test_the_highest_role_of_all_groups_counts(
    rules: str, groups: list[str], role: str | None
) -> None:
    assert role_rules_read(rules).role_of(groups) == role


def test_without_an_issuer_there_is_no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_OIDC_ISSUER", " ")
    assert sign_in.oidc() is None
    assert sign_in.passwords(others=False) is True


def test_what_is_left_out_has_its_default(needed: pytest.MonkeyPatch) -> None:
    needed.setenv("SHOAL_OIDC_CLIENT_SECRET", "hush")
    found = sign_in.oidc()
    assert found is not None
    assert (found.name, found.scopes) == ("single sign-on", ("openid", "profile", "email"))
    assert (found.session_s, found.logout, found.groups_claim) == (43_200, True, "groups")
    assert "hush" not in repr(found)
    needed.setenv("SHOAL_PASSWORDS", "false")
    assert sign_in.passwords(others=True) is False


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SHOAL_OIDC_ISSUER", "http://sso.example", "expected https://"),
        ("SHOAL_OIDC_ISSUER", "sso.example", "expected https://"),
        ("SHOAL_OIDC_CLIENT_ID", "", "is missing"),
        ("SHOAL_OIDC_ROLES", "", "is missing"),
        ("SHOAL_OIDC_ROLES", "admins=root", "expected GROUP=role"),
        ("SHOAL_OIDC_ROLES", "admins", "expected GROUP=role"),
        ("SHOAL_OIDC_ROLES", "=admin", "expected GROUP=role"),
        ("SHOAL_OIDC_SCOPES", "profile", "expected openid"),
        ("SHOAL_OIDC_ALGORITHMS", "RS256,HS256", "expected some of"),
        ("SHOAL_OIDC_ALGORITHMS", "none", "expected some of"),
        ("SHOAL_OIDC_CA_FILE", "/nowhere.pem", "expected a file"),
        ("SHOAL_OIDC_SESSION_S", "5", "expected 60 or more"),
    ],
)
def test_what_cannot_be_meant_stops_the_program(
    needed: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    needed.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=rf"^{name}.*{told}"):
        sign_in.oidc()


def test_an_installation_that_nobody_could_enter_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOAL_PASSWORDS", "false")
    with pytest.raises(ImproperlyConfigured, match=r"^SHOAL_PASSWORDS=false, and there is"):
        sign_in.passwords(others=False)

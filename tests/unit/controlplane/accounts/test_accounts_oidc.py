"""Signing in at a provider that really runs: who becomes who, and what ends it."""

from io import StringIO
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services import token_create, user_update
from controlplane.core.models import Event
from tests.support.oidc_provider import Provider
from tests.support.people import PASSWORD, make_user
from tests.unit.controlplane.accounts.conftest import Browser


def last(verb: str) -> Event:
    return Event.objects.filter(verb=verb).latest("seq")


def test_the_first_sign_in_makes_the_account_with_the_role_of_its_groups(
    provider: Provider, browser: Browser
) -> None:
    provider.person("s-1", preferred_username="grace", groups=["staff", "cn=ml,dc=corp"])
    assert browser.arrive(provider, "s-1", wanted="/models?q=a") == "/models?q=a"
    me = browser.me()
    assert me is not None
    assert (me["username"], me["role"], me["sign_in"]) == ("grace", "deployer", "oidc")
    user = User.objects.get(username="grace")
    assert (user.subject, user.has_usable_password()) == (f"{provider.issuer} s-1", False)
    opened = last("session.opened")
    assert (opened.actor, opened.data) == ("grace", {"address": "127.0.0.1", "by": "oidc"})
    assert last("user.created").data == {"role": "deployer", "by": "oidc"}


def test_other_groups_are_another_role_at_the_next_sign_in(
    provider: Provider, browser: Browser
) -> None:
    for groups, role in ((["admins", "ops"], "admin"), (["ops"], "operator")):
        provider.person("s-2", preferred_username="linus", groups=groups)
        assert browser.arrive(provider, "s-2") == "/"
        assert (browser.me() or {})["role"] == role
    assert last("user.updated").data == {
        "before": {"role": "admin"},
        "after": {"role": "operator"},
        "by": "oidc",
    }
    # the name there may change, the account stays
    provider.person("s-2", preferred_username="torvalds", groups=["ops"])
    browser.arrive(provider, "s-2")
    assert (browser.me() or {})["username"] == "linus"


def test_who_has_no_group_with_a_role_is_refused_and_keeps_nothing(
    provider: Provider, browser: Browser
) -> None:
    provider.person("s-3", preferred_username="eve", groups=["staff", "a\0b"])
    assert browser.arrive(provider, "s-3", wanted="/nodes") == "/login?error=NoRole&next=%2Fnodes"
    assert not User.objects.filter(username="eve").exists()
    failed = last("session.failed")
    assert (failed.data["code"], failed.data["reason"]) == ("NoRole", "groups: staff, a?b")
    provider.person("s-3", preferred_username="eve", groups=["ops"])
    browser.arrive(provider, "s-3")
    _, clear = token_create(user=User.objects.get(username="eve"), name="ci", actor="eve")
    provider.person("s-3", preferred_username="eve", groups=[])
    assert Browser().arrive(provider, "s-3") == "/login?error=NoRole"
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert browser.me() is None
    assert program.get("/api/v1/models").status_code == 401
    assert last("user.access_ended").data == {"sessions": 1, "tokens": 1, "by": "oidc"}


def test_a_deactivated_account_stays_out(provider: Provider, browser: Browser) -> None:
    provider.person("s-4", preferred_username="mallory", groups=["admins"])
    browser.arrive(provider, "s-4")
    make_user("ada", User.Role.ADMIN)
    user_update(username="mallory", actor="ada", active=False)
    assert browser.me() is None
    assert browser.arrive(provider, "s-4") == "/login?error=AccountDisabled"
    assert browser.me() is None


def test_nobody_takes_a_local_account_by_its_name(
    provider: Provider, browser: Browser, admin: User, admin_api: APIClient
) -> None:
    provider.person("s-5", preferred_username="ada", groups=["ops"])
    assert browser.arrive(provider, "s-5") == "/login?error=AccountIsLocal"
    assert ApiToken.objects.filter(user=admin).exists()
    # an administrator hands an account over, once: its name decides, then the provider's own
    make_user("dora", User.Role.DEPLOYER)
    handed = admin_api.patch("/api/v1/users/dora", {"sign_in": "oidc"})
    assert (handed.status_code, handed.json()["sign_in"]) == (200, "oidc")
    provider.person("s-6", preferred_username="dora", groups=["ops"])
    assert browser.arrive(provider, "s-6") == "/"
    assert (browser.me() or {})["role"] == "operator"
    provider.person("s-7", preferred_username="dora", groups=["admins"])
    assert Browser().arrive(provider, "s-7") == "/login?error=AccountIsLocal"


def test_passwords_and_roles_of_such_accounts_are_not_kept_here(
    provider: Provider, browser: Browser, admin_api: APIClient
) -> None:
    provider.person("s-8", preferred_username="alan", groups=["ops"])
    browser.arrive(provider, "s-8")
    password = admin_api.post("/api/v1/users/alan/password", {"password": "long enough now"})
    role = admin_api.patch("/api/v1/users/alan", {"role": "admin"})
    for answer in (password, role):
        assert (answer.status_code, answer.json()["code"]) == (409, "SignsInElsewhere")
    body = {"username": "alan", "password": ""}
    refused = Client().post("/api/v1/session", body, content_type="application/json")
    assert refused.status_code in (400, 401)


def test_signing_out_leads_to_the_providers_page(provider: Provider, browser: Browser) -> None:
    provider.person("s-9", preferred_username="barbara", groups=["ops"])
    browser.arrive(provider, "s-9")
    token = browser.get("/api/v1/session").json()["csrf_token"]
    bare = browser.delete("/api/v1/session")
    assert (bare.status_code, bare.json()["code"]) == (403, "CsrfFailed")
    answer = browser.delete("/api/v1/session", headers={"X-CSRFToken": token})
    assert answer.status_code == 200
    url = urlsplit(answer.json()["provider_logout_url"])
    query = parse_qs(url.query)
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{provider.issuer}/oauth2/end_session"
    assert query["post_logout_redirect_uri"] == ["http://127.0.0.1:8080/login"]
    assert query["id_token_hint"][0].count(".") == 2
    assert browser.me() is None


def test_a_session_ends_by_the_setting_so_that_groups_are_asked_again(
    provider: Provider, browser: Browser
) -> None:
    provider.person("s-10", preferred_username="ken", groups=["ops"])
    browser.arrive(provider, "s-10")
    assert browser.session.get_expiry_age() == 12 * 3600


def test_where_passwords_are_off_only_the_hosts_own_administrator_has_one(
    provider: Provider, settings: Settings, deployer: User
) -> None:
    settings.SHOAL_PASSWORDS = False
    body = {"username": "dora", "password": PASSWORD}
    refused = Client().post("/api/v1/session", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "PasswordsOff")
    wrong = {"username": "dora", "password": "wrong"}
    told = Client().post("/api/v1/session", wrong, content_type="application/json").json()
    assert told["code"] == "BadCredentials"
    clear = call_command_output("break_glass")
    body = {"username": "break-glass", "password": clear}
    client = Client()
    assert client.post("/api/v1/session", body, content_type="application/json").status_code == 200
    assert client.get("/api/v1/users").status_code == 200
    assert last("session.opened").data["by"] == "break_glass"
    assert last("user.break_glass").severity == Event.Severity.WARNING


def call_command_output(name: str) -> str:
    out = StringIO()
    call_command(name, stdout=out)
    return out.getvalue().split()[-1]


def test_the_session_tells_how_people_sign_in(provider: Provider, db: None) -> None:
    assert Client().get("/api/v1/session").json()["ways"] == {"passwords": True, "oidc": "Corp"}


@pytest.mark.parametrize("path", ["/oidc/login", "/oidc/callback?state=x&code=y"])
def test_without_a_provider_there_is_no_such_page(db: None, path: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "ResourceNotFound")

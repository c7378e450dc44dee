"""A provider that errs, and people who forge, replay or redirect: each is refused, on record."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from joserfc.jwk import RSAKey
from pytest_django import Settings

from controlplane.accounts import oidc
from controlplane.accounts.models import SignInCounter, User
from controlplane.core.models import Event
from tests.support.oidc_provider import Lie, Provider
from tests.unit.controlplane.accounts.conftest import HOST, Browser

STRANGER = RSAKey.generate_key(2048)


def claim(**changes: Any) -> Lie:
    """None takes a claim away; a function gets the old value."""

    def lie(header: dict[str, Any], claims: dict[str, Any]) -> None:
        del header
        for name, value in changes.items():
            if value is None:
                claims.pop(name)
            else:
                claims[name] = value(claims[name]) if callable(value) else value

    return lie


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> None:
    del claims
    header["alg"] = "none"


def foreign_key(header: dict[str, Any], claims: dict[str, Any]) -> RSAKey:
    del header, claims
    return STRANGER


def ago(seconds: int) -> Callable[[Any], int]:
    return lambda _: int(time.time()) - seconds


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (claim(aud="another"), "aud"),
        (claim(aud=["studio", "another"]), "azp"),
        (claim(azp="another"), "azp"),
        (claim(iss="https://elsewhere.example"), "iss"),
        (claim(exp=ago(90)), "expired"),
        (claim(iat=ago(-90)), "future"),
        (claim(nonce="another"), "nonce"),
        (claim(nonce=None), "nonce"),
        (claim(sub=None), "sub"),
        (claim(exp=None), "exp"),
        (foreign_key, "bad_signature"),
        (unsigned, "algorithm"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_id_token_that_proves_nothing_lets_nobody_in(
    provider: Provider, browser: Browser, lie: Lie, reason: str
) -> None:
    provider.person("a-1", preferred_username="grace", groups=["admins"])
    provider.lie = lie
    assert browser.arrive(provider, "a-1") == "/login?error=IdentityRefused"
    assert browser.me() is None
    assert not User.objects.exists()
    failed = Event.objects.get(verb="session.failed")
    assert failed.data["code"] == "IdentityRefused"
    assert reason in failed.data["reason"].lower()
    assert "eyJ" not in str(failed.data)  # how every token begins


@pytest.mark.parametrize("lie", [claim(exp=ago(45)), claim(iat=ago(-45))], ids=["exp", "iat"])
def test_clocks_may_differ_by_a_minute(provider: Provider, browser: Browser, lie: Lie) -> None:
    provider.person("a-2", preferred_username="grace", groups=["ops"])
    provider.lie = lie
    assert browser.arrive(provider, "a-2") == "/"


def test_an_answer_works_once_and_only_in_the_browser_that_asked(
    provider: Provider, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    provider.person("a-3", preferred_username="grace", groups=["ops"])
    back = provider.consent(browser.begin(), "a-3")
    asked = provider.token_requests
    # log-in CSRF: somebody else's answer, in a browser that began nothing, or another sign-in
    victim = Browser()
    assert victim.come_back(back) == "/login?error=SignInStale"
    victim.begin()
    assert victim.come_back(back) == "/login?error=SignInStale"
    assert provider.token_requests == asked
    assert browser.come_back(back) == "/"
    assert browser.come_back(back) == "/login?error=SignInStale"
    assert victim.me() is None
    code = back.partition("code=")[2].partition("&")[0]
    assert code
    assert code not in caplog.text


def test_a_cookie_that_somebody_made_or_kept_for_long_begins_nothing(
    provider: Provider, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.person("a-4", preferred_username="grace", groups=["ops"])
    back = provider.consent(browser.begin(), "a-4")
    kept = browser.cookies["shoal_oidc"].value
    browser.cookies["shoal_oidc"] = kept[:-2] + "xx"
    assert browser.come_back(back) == "/login?error=SignInStale"
    browser.cookies["shoal_oidc"] = kept
    now = time.time()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 601)
    assert browser.come_back(back) == "/login?error=SignInStale"


def test_a_session_that_somebody_prepared_is_not_taken_over(
    provider: Provider, browser: Browser
) -> None:
    prepared = browser.session
    prepared["planted"] = "yes"
    prepared.save()
    key = prepared.session_key
    provider.person("a-5", preferred_username="grace", groups=["ops"])
    browser.cookies["shoal_session"] = key or ""
    browser.arrive(provider, "a-5")
    assert browser.session.session_key != key
    thief = Client(headers={"host": HOST})
    thief.cookies["shoal_session"] = key or ""
    assert thief.get("/api/v1/models").status_code == 401


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:x",
        "/oidc/login",
        "x",
    ],
)
def test_a_sign_in_leads_nowhere_else(provider: Provider, browser: Browser, wanted: str) -> None:
    provider.person("a-6", preferred_username="grace", groups=["ops"])
    assert browser.arrive(provider, "a-6", wanted=wanted) == "/"


def test_what_the_provider_says_on_its_way_back_is_told_without_its_words(
    provider: Provider, browser: Browser
) -> None:
    state = browser.begin().partition("&state=")[2].partition("&")[0]
    query = f"error=access_denied&error_description=call+0900&state={state}&session_state=7"
    assert browser.come_back(f"/oidc/callback?{query}") == "/login?error=IdentityRefused"
    failed = Event.objects.get(verb="session.failed")
    assert failed.data["reason"] == "the provider says 'access_denied'"
    state = browser.begin().partition("&state=")[2].partition("&")[0]
    mixed = f"/oidc/callback?code=c&state={state}&iss=https://elsewhere.example"
    assert browser.come_back(mixed) == "/login?error=IdentityRefused"


@pytest.mark.parametrize(
    "lie",
    [
        {"issuer": "https://elsewhere.example"},
        {"token_endpoint": "ftp://127.0.0.1/token"},
        {"jwks_uri": None},
    ],
    ids=["issuer", "scheme", "missing"],
)
def test_metadata_that_does_not_fit_is_not_used(
    provider: Provider, browser: Browser, lie: dict[str, Any]
) -> None:
    oidc._loaded.cache_clear()
    provider.discovery = lie
    assert browser.begin() == "/login?error=ProviderUnavailable"
    provider.discovery = {}
    assert browser.begin().startswith(provider.issuer)


def test_a_provider_that_is_away_is_told(
    browser: Browser, provider: Provider, settings: Settings
) -> None:
    settings.SHOAL_OIDC = dataclasses.replace(settings.SHOAL_OIDC, issuer="http://127.0.0.1:9")
    assert browser.begin() == "/login?error=ProviderUnavailable"


def test_attempts_that_fail_are_counted_like_passwords(
    provider: Provider, browser: Browser
) -> None:
    provider.person("a-7", preferred_username="grace", groups=[])
    for _ in range(20):
        assert browser.arrive(provider, "a-7") == "/login?error=NoRole"
    asked = provider.token_requests
    assert browser.arrive(provider, "a-7") == "/login?error=TooManyAttempts"
    assert provider.token_requests == asked
    SignInCounter.objects.all().delete()


def test_an_address_that_the_provider_has_not_verified_is_no_name(
    provider: Provider, browser: Browser, settings: Settings
) -> None:
    settings.SHOAL_OIDC = dataclasses.replace(settings.SHOAL_OIDC, username_claim="email")
    provider.person("a-8", email="ada@corp.example", email_verified=False, groups=["ops"])
    assert browser.arrive(provider, "a-8") == "/login?error=IdentityRefused"
    provider.person("a-8", email="ada@corp.example", email_verified=True, groups=["ops"])
    assert browser.arrive(provider, "a-8") == "/"
    assert (browser.me() or {})["username"] == "ada@corp.example"


def test_another_host_name_is_led_to_the_one_that_the_provider_knows(
    provider: Provider, db: None
) -> None:
    answer = Client(headers={"host": "localhost"}).get("/oidc/login", {"next": "/nodes"})
    assert answer["Location"] == f"http://{HOST}/oidc/login?next=%2Fnodes&moved=1"
    # a proxy that hides the browser's name for it leads to no ring
    again = Client(headers={"host": "localhost"}).get(
        answer["Location"].removeprefix(f"http://{HOST}")
    )
    assert again["Location"].startswith(f"{provider.issuer}/oauth2/authorize")

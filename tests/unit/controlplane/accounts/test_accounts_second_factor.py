"""Signing in with a second factor, and every way around it that somebody may try."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts import second_factor, selectors, services
from controlplane.accounts.models import ApiToken, BrowserSession, SecondFactor, User
from controlplane.accounts.services import second_factors, sessions, sign_in_throttle
from controlplane.accounts.types import PER_USER
from controlplane.core.models import Event
from tests.support.people import PASSWORD

FACTOR = "/api/v1/session/second-factor"
pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self) -> None:
        self.at = timezone.now()

    def now(self) -> Any:
        return self.at

    def later(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Of the codes and of the patience: a busy machine must not pass from one code to the next."""
    made = Clock()
    for module in (sessions, second_factors, sign_in_throttle):
        monkeypatch.setattr(module, "timezone", SimpleNamespace(now=made.now))
    return made


class Browser(Client):
    def __init__(self) -> None:
        super().__init__(enforce_csrf_checks=True)

    def send(self, path: str, body: dict[str, Any], method: str = "post") -> Any:
        csrf = self.get("/api/v1/session").json()["csrf_token"]
        headers = {"X-CSRFToken": csrf}
        return getattr(self, method)(path, body, content_type="application/json", headers=headers)

    def sign_in(
        self, code: str | None = None, *, name: str = "mary", password: str = PASSWORD
    ) -> str:
        """The refusal's code; empty: signed in."""
        body = {"username": name, "password": password}
        answer = self.send("/api/v1/session", body if code is None else {**body, "code": code})
        return "" if answer.status_code == 200 else str(answer.json()["code"])

    def me(self) -> Any:
        return self.get("/api/v1/session").json()["user"]


class Phone:
    def __init__(self, browser: Browser, clock: Clock) -> None:
        self.clock = clock
        self.recovery: list[str] = []
        begun = browser.send(FACTOR, {"password": PASSWORD})
        assert begun.status_code == 200, begun.content
        assert begun.json()["qr_svg"].startswith("<svg xmlns=")
        row = SecondFactor.objects.latest("pk")
        self.secret = sessions.secret_unseal(row)
        assert second_factor.secret_text(self.secret) == begun.json()["secret"]

    @property
    def code(self) -> str:
        return second_factor.code_at(self.secret, self.clock.at.timestamp())

    def next_code(self) -> str:
        self.clock.later(30)
        return self.code

    @property
    def wrong(self) -> str:
        near = {
            second_factor.code_at(self.secret, self.clock.at.timestamp() + off)
            for off in (-30, 0, 30)
        }
        return next(code for code in ("000000", "000001", "000002", "000003") if code not in near)


@pytest.fixture
def mary(db: None) -> User:
    return User.objects.create_user(username="mary", password=PASSWORD, role=User.Role.ADMIN)


@pytest.fixture
def browser(mary: User) -> Browser:
    made = Browser()
    assert made.sign_in() == ""
    return made


@pytest.fixture
def phone(browser: Browser, clock: Clock) -> Phone:
    """Set up, and its first code used."""
    made = Phone(browser, clock)
    answer = browser.send(f"{FACTOR}/confirm", {"code": made.code})
    assert answer.status_code == 200, answer.content
    made.recovery = answer.json()["recovery_codes"]
    return made


def verbs() -> list[str]:
    rows = Event.objects.filter(verb__startswith="user.").order_by("seq")
    return list(rows.values_list("verb", flat=True))


def test_it_is_set_up_and_asked_for_from_then_on(browser: Browser, phone: Phone) -> None:
    assert browser.me()["second_factor"] == "on"  # this browser goes on
    assert browser.get(FACTOR).json() == {"state": "on", "recovery_codes_left": 10}
    other = Browser()
    assert other.sign_in() == "CodeNeeded"
    assert other.sign_in("") == "CodeNeeded"
    assert other.sign_in(phone.wrong) == "CodeWrong"
    assert other.sign_in(phone.next_code()) == ""
    assert other.me()["username"] == "mary"
    opened = Event.objects.filter(verb="session.opened").latest("seq")
    assert opened.data["second"] == "totp"
    assert verbs() == ["user.second_factor_on"]


def test_nothing_of_it_is_kept_or_told_in_clear(
    browser: Browser, phone: Phone, caplog: pytest.LogCaptureFixture
) -> None:
    text = second_factor.secret_text(phone.secret)
    row = SecondFactor.objects.get()
    kept = f"{row.sealed_secret} {row.recovery}"
    told = " ".join(f"{e.message} {e.data}" for e in Event.objects.all()) + caplog.text
    for secret in (text, phone.secret.hex(), *phone.recovery):
        assert secret not in kept
        assert secret not in told
    assert text not in browser.get(FACTOR).content.decode()


def test_other_browsers_end_when_it_is_set_up(mary: User, clock: Clock) -> None:
    """They were opened by the password alone, maybe by somebody else."""
    mine, other = Browser(), Browser()
    assert (mine.sign_in(), other.sign_in()) == ("", "")
    phone = Phone(mine, clock)
    assert mine.send(f"{FACTOR}/confirm", {"code": phone.code}).status_code == 200
    assert other.me() is None
    assert mine.me() is not None
    assert BrowserSession.objects.filter(user=mary).count() == 1


def test_the_password_is_asked_again_before_a_secret_is_shown(browser: Browser) -> None:
    answer = browser.send(FACTOR, {"password": "wrong"})
    assert (answer.status_code, answer.json()["code"]) == (401, "BadCredentials")
    assert not SecondFactor.objects.exists()


def test_a_secret_counts_for_nothing_before_its_first_code(browser: Browser, clock: Clock) -> None:
    phone = Phone(browser, clock)
    assert Browser().sign_in() == ""
    answer = browser.send(f"{FACTOR}/confirm", {"code": phone.wrong})
    assert (answer.status_code, answer.json()["code"]) == (401, "CodeWrong")
    clock.later(second_factor.BEGUN_FOR.total_seconds() + 1)
    answer = browser.send(f"{FACTOR}/confirm", {"code": phone.code})
    assert (answer.status_code, answer.json()["code"]) == (409, "SecondFactorNotBegun")
    assert not selectors.has_second_factor(User.objects.get(username="mary"))


def test_a_code_that_was_used_is_refused_also_at_another_door(
    browser: Browser, phone: Phone
) -> None:
    """The one of the set-up as well: somebody may have looked over the shoulder."""
    used = phone.code
    assert Browser().sign_in(used) == "CodeWrong"
    code = phone.next_code()
    assert Browser().sign_in(code) == ""
    assert Browser().sign_in(code) == "CodeWrong"
    body = {"password": PASSWORD, "code": code}
    assert browser.send(f"{FACTOR}/disable", body).json()["code"] == "CodeWrong"
    assert selectors.has_second_factor(User.objects.get(username="mary"))


def test_a_recovery_code_opens_once_and_is_on_record(browser: Browser, phone: Phone) -> None:
    code = phone.recovery[3]
    assert Browser().sign_in(code) == ""
    assert Browser().sign_in(code) == "CodeWrong"
    assert browser.get(FACTOR).json()["recovery_codes_left"] == 9
    event = Event.objects.get(verb="user.recovery_code_used")
    assert (event.severity, event.message.endswith("9 are left")) == ("warning", True)


def test_guessing_codes_has_to_wait_as_guessing_passwords_does(phone: Phone, clock: Clock) -> None:
    """Whoever has the password; neither the password alone nor a stranger's patience helps."""
    stranger = Browser()
    heard = []
    for _ in range(PER_USER.free_attempts + 1):
        heard.append(stranger.sign_in(phone.wrong))
        stranger.sign_in()  # the right password takes nothing back
    assert "TooManyAttempts" in heard
    assert heard.count("CodeWrong") <= PER_USER.free_attempts
    assert stranger.sign_in(phone.code) == "TooManyAttempts"  # not even the right one
    failed = Event.objects.filter(verb="session.failed", data__code="CodeWrong")
    assert failed.count() == heard.count("CodeWrong")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (FACTOR, {"password": PASSWORD}),  # refused: there is one; the password was right
        ("/api/v1/session/password", {"current": PASSWORD, "password": PASSWORD}),
    ],
)
def test_saying_the_password_elsewhere_does_not_forgive_wrong_codes(
    browser: Browser, phone: Phone, path: str, body: dict[str, str]
) -> None:
    """A signed-in browser that somebody took over, by somebody who knows the password as well."""
    heard = []
    for _ in range(PER_USER.free_attempts + 1):
        wrong = {"password": PASSWORD, "code": phone.wrong}
        heard.append(browser.send(f"{FACTOR}/disable", wrong).json()["code"])
        browser.send(path, body)
    assert heard[-1] == "TooManyAttempts"
    assert selectors.has_second_factor(User.objects.get(username="mary"))


def test_between_password_and_code_there_is_no_session(phone: Phone) -> None:
    """So none can be fixed before, taken over, or ended halfway."""
    before = Session.objects.count()
    fixed = Browser()
    fixed.get("/api/v1/session")
    assert fixed.sign_in() == "CodeNeeded"
    assert "shoal_session" not in fixed.cookies
    assert Session.objects.count() == before
    planted = "p" * 32
    fixed.cookies["shoal_session"] = planted
    assert fixed.sign_in(phone.next_code()) == ""
    assert fixed.cookies["shoal_session"].value != planted
    assert not Session.objects.filter(session_key=planted).exists()


def test_a_wrong_password_says_nothing_of_a_second_factor(phone: Phone) -> None:
    assert Browser().sign_in(phone.next_code(), password="wrong") == "BadCredentials"
    assert Browser().sign_in(password="wrong") == "BadCredentials"
    assert Browser().sign_in(phone.code) == ""  # and used up no code


def test_it_goes_by_password_and_a_code_alone(browser: Browser, phone: Phone) -> None:
    code = phone.next_code()
    for body, expected in (
        ({"password": PASSWORD, "code": phone.wrong}, "CodeWrong"),
        ({"password": "wrong", "code": code}, "BadCredentials"),
    ):
        assert browser.send(f"{FACTOR}/disable", body).json()["code"] == expected
    assert browser.send(FACTOR, {"password": PASSWORD}).json()["code"] == "SecondFactorOn"
    answer = browser.send(f"{FACTOR}/disable", {"password": PASSWORD, "code": code})
    assert answer.status_code == 204, answer.content
    assert Browser().sign_in() == ""
    assert verbs()[-1] == "user.second_factor_off"
    again = browser.send(f"{FACTOR}/disable", {"password": PASSWORD, "code": code})
    assert again.json()["code"] == "SecondFactorOff"


def test_an_administrator_resets_that_of_others_and_never_their_own(
    browser: Browser, phone: Phone, admin_api: APIClient
) -> None:
    own = browser.send("/api/v1/users/mary/second-factor", {}, "delete")
    assert (own.status_code, own.json()["code"]) == (403, "OwnSecondFactor")
    assert admin_api.get("/api/v1/users/mary").json()["second_factor"] is True
    assert admin_api.delete("/api/v1/users/mary/second-factor").status_code == 204
    assert browser.me() is None
    assert Browser().sign_in() == ""
    event = Event.objects.get(verb="user.second_factor_reset")
    assert (event.severity, event.subject) == ("warning", "user/mary")
    assert admin_api.get("/api/v1/users/mary").json()["second_factor"] is False
    again = admin_api.delete("/api/v1/users/mary/second-factor")
    assert again.json()["code"] == "SecondFactorOff"


def test_a_password_that_an_administrator_sets_does_not_take_it_away(
    phone: Phone, admin_api: APIClient
) -> None:
    made = admin_api.post("/api/v1/users/mary/password", {}, format="json").json()["password"]
    assert Browser().sign_in(password=made) == "CodeNeeded"


def test_handing_an_account_over_and_back_does_not_take_it_away(
    phone: Phone, admin_api: APIClient
) -> None:
    for way in ("oidc", "password"):
        body = {"sign_in": way}
        assert admin_api.patch("/api/v1/users/mary", body, format="json").status_code == 200
    made = admin_api.post("/api/v1/users/mary/password", {}, format="json").json()["password"]
    assert Browser().sign_in(password=made) == "CodeNeeded"


def test_the_host_s_own_way_in_resets_it(phone: Phone) -> None:
    clear = services.break_glass(username="mary")
    assert Browser().sign_in(password=clear) == ""


@pytest.mark.parametrize("way", ["oidc", "header"])
def test_who_signs_in_elsewhere_is_asked_there(db: None, way: str, settings: Settings) -> None:
    settings.SHOAL_SECOND_FACTOR_ROLES = ("admin",)
    grace = User.objects.create_user(username="grace", role="admin", sign_in=way)
    assert selectors.second_factor_of(grace).state == "elsewhere"
    assert not selectors.second_factor_missing(grace)
    with pytest.raises(services.second_factors.SignsInElsewhere):
        services.second_factor_begin(user=grace, password="", address="")


def test_without_a_required_one_a_browser_can_set_it_up_and_nothing_else(
    browser: Browser, clock: Clock, settings: Settings, mary: User
) -> None:
    """Also one that was signed in before the installation wanted it."""
    settings.SHOAL_SECOND_FACTOR_ROLES = ("admin",)
    assert browser.me()["second_factor"] == "missing"
    assert browser.me()["permissions"] == []
    for path in ("models", "users", "tokens", "sessions", "events"):
        refused = browser.get(f"/api/v1/{path}")
        assert (refused.status_code, refused.json()["code"]) == (403, "SecondFactorMissing"), path
    body: dict[str, Any] = {"name": "around it"}
    for path, method, sent in (
        ("/api/v1/tokens", "post", body),
        ("/api/v1/session/password", "post", {"current": PASSWORD, "password": "another one"}),
        ("/api/v1/users/mary", "patch", {"role": "viewer"}),
        (f"{FACTOR}/disable", "post", {"password": PASSWORD, "code": "000000"}),
    ):
        refused = browser.send(path, sent, method)
        assert refused.json()["code"] == "SecondFactorMissing", path
    assert not ApiToken.objects.exists()
    key = browser.cookies["shoal_session"].value
    assert selectors.user_of_session(mary.pk, key, timezone.now()) is None  # sockets
    phone = Phone(browser, clock)
    assert browser.send(f"{FACTOR}/confirm", {"code": phone.code}).status_code == 200
    assert browser.get("/api/v1/models").status_code == 200
    key = browser.cookies["shoal_session"].value
    assert selectors.user_of_session(mary.pk, key, timezone.now()) == mary


def test_tokens_and_programs_are_not_asked(
    mary: User, settings: Settings, client_of: Callable[[User], APIClient], phone: Phone
) -> None:
    settings.SHOAL_SECOND_FACTOR_ROLES = ("admin", "deployer")
    assert client_of(mary).get("/api/v1/models").status_code == 200
    dora = User.objects.create_user(username="dora", password=PASSWORD, role="deployer")
    assert selectors.second_factor_missing(dora)
    assert client_of(dora).get("/api/v1/models").status_code == 200
    program, *_ = services.service_account_create(
        name="ci", role="deployer", days=None, actor="mary"
    )
    assert client_of(program).get("/api/v1/models").status_code == 200


def test_a_token_alone_takes_nothing_away(
    mary: User, phone: Phone, client_of: Callable[[User], APIClient]
) -> None:
    api = client_of(mary)
    for body in ({}, {"password": PASSWORD}, {"code": phone.next_code()}):
        assert api.post(f"{FACTOR}/disable", body, format="json").status_code == 400
    assert api.delete("/api/v1/users/mary/second-factor").json()["code"] == "OwnSecondFactor"
    assert api.delete(FACTOR).status_code == 405
    assert selectors.has_second_factor(mary)


def test_it_cannot_be_read_with_another_secret_key(phone: Phone, settings: Settings) -> None:
    settings.SECRET_KEY = "another"
    assert Browser().sign_in(phone.next_code()) == "SecondFactorUnreadable"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_nobody_else_reads_the_factor_while_a_code_of_it_is_judged(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two that bring one code at once would both find it unused."""
    user, judged = User.objects.get(username="mary"), second_factor.accepted
    heard: list[str] = []

    def another() -> str:
        try:
            with transaction.atomic():
                SecondFactor.objects.select_for_update(nowait=True).get(user=user)
        except OperationalError:
            return "locked"
        finally:
            connection.close()
        return "free"

    def judge(*given: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            heard.append(pool.submit(another).result())
        return judged(*given)

    monkeypatch.setattr(second_factor, "accepted", judge)
    assert sessions.code_take(user, phone.next_code()) == "totp"
    assert heard == ["locked"]

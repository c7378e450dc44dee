"""Guessing passwords: counted per name and per network, in one step, and never for ever."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from controlplane.accounts.errors import BadCredentials, SignInBusy, TooManyAttempts
from controlplane.accounts.hashing import STRANGERS, Turns
from controlplane.accounts.models import SignInCounter, User
from controlplane.accounts.services import counters_prune, session_open, sign_in_throttle
from controlplane.accounts.services.sign_in_throttle import (
    attempt_begin,
    attempt_begin_apart,
    attempt_succeed,
    attempt_withdraw,
)
from controlplane.accounts.types import KNOWN_FOR, PER_ADDRESS, PER_USER, network_of
from controlplane.core.models import Event

PASSWORD = "correct horse battery"
HOME = "192.0.2.7"


@pytest.fixture(autouse=True)
def a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still: on a busy machine a wait would pass between two attempts."""
    now = timezone.now()
    monkeypatch.setattr(sign_in_throttle, "timezone", SimpleNamespace(now=lambda: now))


def heard(username: str, address: str, password: str = "wrong") -> str:
    """What became of one attempt."""
    try:
        session_open(username=username, password=password, address=address)
    except (BadCredentials, TooManyAttempts, SignInBusy) as error:
        return error.code
    return "opened"


def fail(username: str, address: str = HOME, now: datetime | None = None) -> None:
    attempt_begin(username=username, address=address, now=now)


def wait_s(username: str, address: str, now: datetime | None = None) -> int:
    try:
        attempt = attempt_begin(username=username, address=address, now=now)
    except TooManyAttempts as error:
        return int(error.extra["retry_after_s"])
    attempt_withdraw(attempt)
    return 0


def test_many_addresses_guess_one_name_no_faster_than_one(deployer: User) -> None:
    answers = [heard("dora", f"198.51.100.{host}") for host in range(40)]
    assert answers.count("BadCredentials") == PER_USER.free_attempts
    assert set(answers[PER_USER.free_attempts :]) == {"TooManyAttempts"}


def test_names_that_nobody_has_count_alike(db: None) -> None:
    answers = [heard("nobody", f"198.51.100.{host}") for host in range(10)]
    assert answers.count("BadCredentials") == PER_USER.free_attempts


def test_who_signed_in_from_there_is_heard_beside_an_attack_and_by_others_still_not(
    deployer: User,
) -> None:
    assert heard("dora", HOME, PASSWORD) == "opened"
    for host in range(40):
        heard("dora", f"198.51.100.{host}")
    assert heard("dora", HOME, PASSWORD) == "opened"
    assert heard("dora", "203.0.113.9", PASSWORD) == "TooManyAttempts"


def test_a_wait_of_the_network_is_not_one_of_who_is_known_there(deployer: User) -> None:
    assert heard("dora", HOME, PASSWORD) == "opened"
    for index in range(PER_ADDRESS.free_attempts):
        heard(f"name-{index}", HOME)
    assert heard("vera", HOME) == "TooManyAttempts"
    assert heard("dora", HOME, PASSWORD) == "opened"


def test_where_a_name_is_known_it_is_guessed_no_faster(deployer: User) -> None:
    assert heard("dora", HOME, PASSWORD) == "opened"
    answers = [heard("dora", HOME) for _ in range(20)]
    assert answers.count("BadCredentials") == PER_USER.free_attempts
    assert heard("dora", HOME, PASSWORD) == "TooManyAttempts"


def test_an_own_account_forgives_nobody_elses_failures(deployer: User) -> None:
    for index in range(PER_ADDRESS.free_attempts - 1):
        fail(f"name-{index}")
    assert heard("dora", HOME, PASSWORD) == "opened"
    fail("another")
    assert wait_s("one-more", HOME) > 0


def test_waits_are_bounded_and_so_is_a_day_of_guessing(db: None) -> None:
    now = start = timezone.now()
    guesses = 0
    while now < start + timedelta(days=1):
        try:
            fail("dora", f"198.51.{guesses // 250}.{guesses % 250}", now)
        except TooManyAttempts as error:
            assert error.extra["retry_after_s"] <= PER_USER.longest_s
            now += timedelta(seconds=error.extra["retry_after_s"])
        else:
            guesses += 1
    assert guesses < 320


def test_silence_forgets(db: None) -> None:
    now = timezone.now()
    for _ in range(PER_USER.free_attempts):
        fail("dora", now=now)
    assert wait_s("dora", HOME, now) > 0
    assert wait_s("dora", HOME, now + PER_USER.window) == 0
    for _ in range(PER_USER.free_attempts):
        fail("dora", now=now + PER_USER.window)


def test_a_clock_that_was_set_back_makes_nobody_wait_for_a_day(db: None) -> None:
    now = timezone.now()
    for _ in range(PER_USER.free_attempts):
        fail("dora", now=now)
    assert 0 < wait_s("dora", HOME, now - timedelta(seconds=1)) <= PER_USER.longest_s
    assert wait_s("dora", HOME, now - timedelta(days=1)) == 0


def test_a_place_is_known_for_a_while(deployer: User) -> None:
    assert heard("dora", HOME, PASSWORD) == "opened"
    now = timezone.now()
    assert attempt_begin(username="dora", address=HOME, now=now).known
    assert not attempt_begin(username="dora", address=HOME, now=now + KNOWN_FOR).known
    assert not attempt_begin(username="dora", address="192.0.2.8", now=now).known
    assert not attempt_begin(username="DORA", address=HOME, now=now).known


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:0DB8:1:2::ffff", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::1", "::/64"),
        ("", "unknown"),
        ("somebody's words", "unknown"),
        ("192.0.2.7:4711", "unknown"),
    ],
)
def test_a_network_is_what_one_customer_has(address: str, network: str) -> None:
    assert network_of(address) == network


def test_addresses_of_one_ipv6_network_count_as_one(db: None) -> None:
    for host in range(PER_ADDRESS.free_attempts):
        fail(f"name-{host}", f"2001:db8::{host:x}")
    assert wait_s("another", "2001:db8::ffff") > 0
    assert wait_s("another", "2001:db8:0:1::1") == 0


@pytest.mark.django_db(transaction=True)
def test_attempts_at_once_are_heard_as_rarely_as_one_after_the_other() -> None:
    barrier = threading.Barrier(16)

    def attempt(index: int) -> str:
        try:
            barrier.wait(60)
            fail("dora", f"198.51.100.{index}")
        except TooManyAttempts as error:
            return error.code
        finally:
            connection.close()
        return "heard"

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(attempt, range(16)))
    assert answers.count("heard") == PER_USER.free_attempts


@pytest.mark.django_db(transaction=True)
def test_right_ones_at_once_leave_no_failure_behind() -> None:
    barrier = threading.Barrier(4)

    def attempt(index: int) -> None:
        try:
            found = attempt_begin(username=f"name-{index}", address=HOME)
            barrier.wait(60)
            attempt_succeed(found)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(attempt, range(4)))
    assert set(SignInCounter.objects.values_list("failures", flat=True)) == {0}


def test_a_request_behind_no_trusted_proxy_cannot_say_where_it_comes_from(deployer: User) -> None:
    codes = []
    for index in range(40):
        answer = Client().post(
            "/api/v1/session",
            {"username": "dora", "password": "wrong"},
            content_type="application/json",
            headers={"X-Forwarded-For": f"198.51.100.{index}", "Forwarded": "for=192.0.2.1"},
        )
        codes.append(answer.status_code)
    assert codes.count(401) == PER_USER.free_attempts
    addresses = Event.objects.values_list("data__address", flat=True)
    assert set(addresses) == {"127.0.0.1"}


def test_what_counts_no_more_is_dropped_and_known_places_stay(deployer: User) -> None:
    assert heard("dora", HOME, PASSWORD) == "opened"
    fail("vera")
    SignInCounter.objects.update(tried_at=timezone.now() - PER_USER.window * 2)
    fail("nobody", "203.0.113.1")
    counters_prune()
    left = set(SignInCounter.objects.values_list("name", "network"))
    assert left == {("dora", HOME), ("nobody", ""), ("", "203.0.113.1")}


def test_a_secret_that_nobody_guesses_is_made_slow_for_the_guesser_alone(db: None) -> None:
    for _ in range(PER_USER.free_attempts):
        attempt_begin_apart(name="/setup", address="198.51.100.1")
    with pytest.raises(TooManyAttempts):
        attempt_begin_apart(name="/setup", address="198.51.100.1")
    attempt_begin_apart(name="/setup", address=HOME)


# How many hashes there are at once.


def test_no_more_work_at_once_than_there_are_turns_and_who_finds_no_place_is_told() -> None:
    turns = Turns(at_once=2, waiting=3)
    working, most, entered = 0, 0, threading.Semaphore(0)
    release, lock = threading.Event(), threading.Lock()

    def work() -> str:
        nonlocal working, most
        try:
            with turns.turn():
                with lock:
                    working += 1
                    most = max(most, working)
                entered.release()
                release.wait(60)
                with lock:
                    working -= 1
        except SignInBusy as error:
            release.set()
            return f"busy {error.extra['retry_after_s']}"
        return "done"

    with ThreadPoolExecutor(6) as threads:
        first = [threads.submit(work) for _ in range(2)]
        for _ in first:
            assert entered.acquire(timeout=60)
        rest = [threads.submit(work) for _ in range(4)]
        answers = [one.result(60) for one in [*first, *rest]]
    assert most == 2
    assert sorted(answers) == ["busy 10", *["done"] * 5]


def test_a_wait_for_a_turn_ends_and_gives_the_place_back() -> None:
    turns = Turns(at_once=1, waiting=1, max_wait_s=0.01)
    with turns.turn():
        for _ in range(3):
            with pytest.raises(SignInBusy), turns.turn():
                pass
    with turns.turn():
        pass


def test_who_found_no_turn_is_answered_503_and_not_counted(
    deployer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Turns(at_once=1, waiting=0)
    monkeypatch.setattr("controlplane.accounts.services.sessions.STRANGERS", full)
    body = {"username": "dora", "password": PASSWORD}
    with full.turn():
        for _ in range(PER_USER.free_attempts + 1):
            answer = Client().post("/api/v1/session", body, content_type="application/json")
            assert (answer.status_code, answer.json()["code"]) == (503, "SignInBusy")
            assert answer["Retry-After"] == "10"
    opened = Client().post("/api/v1/session", body, content_type="application/json")
    assert opened.status_code == 200
    with full.turn():  # known by now
        opened = Client().post("/api/v1/session", body, content_type="application/json")
        assert opened.status_code == 200


def test_strangers_never_take_all_turns() -> None:
    from controlplane.accounts.hashing import HASHES

    def free(turns: Turns) -> int:
        return turns._turns._value  # type: ignore[attr-defined]

    assert free(STRANGERS) < free(HASHES)


@pytest.fixture
def argon2(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["controlplane.accounts.hashing.BoundedArgon2PasswordHasher"]


def test_the_hasher_of_the_installation_waits_for_turns_and_reads_djangos_hashes(
    argon2: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = make_password(PASSWORD)
    assert kept.startswith("argon2$argon2id$")
    assert check_password(PASSWORD, kept)
    full = Turns(at_once=1, waiting=0)
    monkeypatch.setattr("controlplane.accounts.hashing.HASHES", full)
    with full.turn():
        for attempt in (lambda: make_password("x"), lambda: check_password("x", kept)):
            refused: Callable[[], object] = attempt
            with pytest.raises(SignInBusy):
                refused()


def test_a_name_that_nobody_has_costs_one_hash_as_a_wrong_password_does(
    argon2: None, deployer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployer.set_password(PASSWORD)
    deployer.save()
    inactive = User.objects.create_user("ina", password=PASSWORD, is_active=False)
    taken: list[str] = []

    class Counting(Turns):
        def turn(self):  # type: ignore[no-untyped-def]
            taken.append("hash")
            return super().turn()

    monkeypatch.setattr("controlplane.accounts.hashing.HASHES", Counting(at_once=1, waiting=0))
    for name, password in (
        ("dora", "wrong"), ("nobody", "wrong"), (inactive.username, "wrong"), ("ina", PASSWORD),
    ):  # fmt: skip
        taken.clear()
        assert heard(name, HOME, password) == "BadCredentials"
        assert taken == ["hash"], name


def test_a_bad_api_token_costs_no_hash_of_that_kind(
    argon2: None, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Turns(at_once=1, waiting=0)
    monkeypatch.setattr("controlplane.accounts.hashing.HASHES", full)
    resources = [("get", "/api/v1/models"), ("get", "/agent/v1/gateway/snapshot"),
             ("post", "/agent/v1/report")]  # fmt: skip
    with full.turn():
        for method, path in resources:
            answer = getattr(Client(), method)(path, headers={"Authorization": "Bearer shoal_x"})
            assert answer.status_code == 401, path

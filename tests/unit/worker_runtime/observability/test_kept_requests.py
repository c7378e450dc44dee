"""Which requests are told of one by one, with their times: few, whatever clients send."""

from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid1
from zlib import crc32

import pytest

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.execution import answers
from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import BackendFailed, QueueFull
from worker_runtime.observability.requests import keeper as keeping
from worker_runtime.observability.requests.keeper import OF_EACH, RequestKeeper, rank, skipped
from worker_runtime.observability.requests.watched import (
    CALL,
    MOST_NOTES,
    STEP,
    VERSION_AT,
    below,
    ended,
    id_of,
    padded,
)
from worker_runtime.types.request import InferRequest, Plan

MS = 1_000_000
BEGIN = 5_000 * MS
MODEL: Any = SimpleNamespace(name="m", version=2, executes=True)
ENSEMBLE: Any = SimpleNamespace(name="e", version=1, executes=False)
SALT = 7
ANSWERS = Answers(Statistics())


class Clock:
    now = BEGIN

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(keeping, "monotonic_ns", found)
    monkeypatch.setattr(answers, "monotonic_ns", found)
    monkeypatch.setattr("worker_runtime.observability.requests.watched.monotonic_ns", found)
    monkeypatch.setattr(keeping, "time", lambda: 1000.0)
    return found


@pytest.fixture
async def keeper(clock: Clock) -> Iterator[RequestKeeper]:  # type: ignore[misc]
    del clock
    made = RequestKeeper()
    made.look(SALT, 0)
    yield made
    made.stop()


def request_of(model: Any = MODEL, at: int = BEGIN) -> InferRequest:
    plan = Plan(inputs=(), order=None, rows=1, batch_key=(), outputs=())
    return InferRequest(plan, [], RecordingSink(), arrived_ns=at, model=model)


def watched(keeper: RequestKeeper, name: str, model: Any = MODEL, at: int = BEGIN) -> InferRequest:
    request = request_of(model, at)
    request.watched, request.x_request_id = keeper, padded(name.encode())
    return request


def ask(keeper: RequestKeeper, clock: Clock, name: str, ms: int = 1, error: Any = None) -> None:
    request = watched(keeper, name, at=clock.now)
    clock.now += ms * MS
    if error is None:
        ANSWERS.deliver(request, [])
    else:
        ended(request, error)


def chosen(keeper: RequestKeeper, after: int = 0) -> dict[str, str]:
    return {one["id"]: one["why"] for one in keeper.look(SALT, after)}


async def test_a_request_with_its_times(keeper: RequestKeeper, clock: Clock) -> None:
    request = watched(keeper, "a")
    request.queued_ns, request.batch = BEGIN + MS, 3
    request.timings = (BEGIN + 4 * MS, BEGIN + 5 * MS, BEGIN + 15 * MS, BEGIN + 16 * MS)
    clock.now = BEGIN + 20 * MS
    ended(request)
    [told] = keeper.look(SALT, 0)
    assert told == {
        "number": 1, "id": "a", "why": "slow", "at": 999.98, "left_out": 0,
        "spans": [
            {"parent": -1, "via": "", "model": "m", "version": 2, "error": "", "batch": 3,
             "start_us": 0.0, "total_us": 20_000.0, "execution": f"{BEGIN + 4 * MS:x}",
             "accept_us": 1000.0, "queue_us": 3000.0, "input_us": 1000.0, "infer_us": 10_000.0,
             "output_us": 1000.0},
        ],
    }  # fmt: skip


async def test_the_slowest_and_those_with_the_smallest_numbers_of_thousands(
    keeper: RequestKeeper, clock: Clock
) -> None:
    for number in range(3000):
        ask(keeper, clock, f"id-{number}", 1 + number % 1000)
    found = chosen(keeper)
    slow = {name for name, why in found.items() if why == "slow"}
    assert slow == {"id-999", "id-1999", "id-2999", "id-1998"}
    ranked = sorted(range(3000), key=lambda number: crc32(padded(b"id-%d" % number), SALT))
    assert {name for name, why in found.items() if why == "sampled"} == {
        f"id-{number}" for number in ranked[: OF_EACH["sampled"]]
    }


def random_ids(count: int, seed: int = 0) -> list[str]:
    """As gateways make them."""
    random = Random(seed)  # nothing is to be kept secret
    return [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(count)]


@pytest.mark.parametrize("salt", [0, 7, 0xFFFF_FFF8])
async def test_of_random_ids_the_same_are_kept_without_a_look_at_each(
    keeper: RequestKeeper, clock: Clock, salt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []

    def looked_at(request_id: bytes, salt: int) -> int:
        looked.append(request_id)
        return rank(request_id, salt)

    monkeypatch.setattr(keeping, "rank", looked_at)
    keeper.look(salt, 0)
    ids = random_ids(3000)
    for one in ids:
        ask(keeper, clock, one)
    smallest = sorted(ids, key=ranked_by(salt))[: OF_EACH["sampled"]]
    assert {one["id"] for one in keeper.look(salt, 0)} == {*smallest, *ids[: OF_EACH["slow"]]}
    assert len(looked) < 400, "of most the last digit is enough"


def ranked_by(salt: int) -> Any:
    return lambda one: rank(padded(one.encode()), salt)


async def test_a_slow_one_is_kept_whatever_its_id(keeper: RequestKeeper, clock: Clock) -> None:
    ids = random_ids(1000)
    slow = dict(zip(ids[500:564:4], range(100, 116), strict=True))
    for one in ids:
        ask(keeper, clock, one, slow.get(one, 1))
    found = chosen(keeper)
    assert {one for one, why in found.items() if why == "slow"} == set(list(slow)[-4:])


def test_what_is_skipped_has_too_large_a_rank() -> None:
    random = Random(1)  # nothing is to be kept secret
    for one in random_ids(2000):
        salt, below = random.getrandbits(32), random.getrandbits(random.randrange(1, 33))
        assert one[-1].encode() not in skipped(salt, below) or rank(one.encode(), salt) >= below


@pytest.mark.parametrize("other", ["retry-{}-of-{}-0", "{}", "uuid1"])
def test_ids_of_all_kinds_have_the_same_chance(other: str) -> None:
    """Of two callers with as many requests, whose ids are made in other ways."""
    random, kept = Random(2), 0  # nothing is to be kept secret
    first = random_ids(300)
    second = [
        str(uuid1(node=1, clock_seq=2)) if other == "uuid1" else other.format(n, n)
        for n in range(300)
    ]
    rounds = 400
    for _ in range(rounds):
        salt = random.getrandbits(32)
        least = sorted(first + second, key=ranked_by(salt))[: OF_EACH["sampled"]]
        kept += len(set(least) & set(second))
    assert 0.44 < kept / (rounds * OF_EACH["sampled"]) < 0.56


@pytest.mark.parametrize("error", [BackendFailed("no"), QueueFull("full")])
async def test_failures_are_told_with_their_kind(
    keeper: RequestKeeper, clock: Clock, error: Exception
) -> None:
    for number in range(100):
        ask(keeper, clock, f"ok-{number}", 50)
        ask(keeper, clock, f"bad-{number}", error=error)
    told = [one for one in keeper.look(SALT, 0) if one["why"] == "failed"]
    assert len(told) == OF_EACH["failed"]
    assert {one["spans"][0]["error"] for one in told} == {type(error).__name__}


async def test_one_id_for_all_fills_nothing(keeper: RequestKeeper, clock: Clock) -> None:
    for _ in range(500):
        ask(keeper, clock, "same")
        ask(keeper, clock, "same", error=BackendFailed("no"))
    for number in range(3):
        ask(keeper, clock, f"other-{number}")
        ask(keeper, clock, f"failed-{number}", error=BackendFailed("no"))
    found = chosen(keeper)
    assert {f"other-{n}" for n in range(3)} | {f"failed-{n}" for n in range(3)} < set(found)


async def test_each_is_told_until_somebody_has_it(keeper: RequestKeeper, clock: Clock) -> None:
    ask(keeper, clock, "a")
    assert chosen(keeper) == {"a": "slow"}
    assert chosen(keeper) == {"a": "slow"}, "whoever asked did not get it"
    ask(keeper, clock, "b")
    assert chosen(keeper, after=1) == {"b": "slow"}
    for number in range(1000):
        ask(keeper, clock, f"id-{number}")
        keeper.look(SALT, 0)
    assert len(keeper.look(SALT, 0)) == keeping.MOST_TOLD


async def test_nothing_is_kept_while_nobody_looks(clock: Clock) -> None:
    keeper = RequestKeeper()
    assert not keeper.active
    keeper.look(SALT, 0)
    assert keeper.active
    ask(keeper, clock, "a")
    keeper.stop()
    assert not keeper.active
    assert keeper.look(SALT, 0) == []
    keeper.stop()


async def test_steps_and_calls_hang_below_what_led_to_them(
    keeper: RequestKeeper, clock: Clock
) -> None:
    """An ensemble with a step whose model calls another one, for two requests at once."""
    first, second = watched(keeper, "a", ENSEMBLE), watched(keeper, "b", ENSEMBLE, BEGIN + 1)
    steps = []
    for request in (first, second):
        step = request_of(at=request.arrived_ns + MS)
        step.watched = below(STEP, [request])
        step.timings, step.batch = (1, 2, 3, 4), 2
        steps.append(step)
    call = request_of(SimpleNamespace(name="called", version=1, executes=True), BEGIN + 3 * MS)
    call.watched = below(CALL, steps)
    clock.now = BEGIN + 5 * MS
    for request in (call, *steps, first, second):
        ended(request)
    for told in keeper.look(SALT, 0):
        assert [
            (span["model"], span["parent"], span["via"], span["batch"]) for span in told["spans"]
        ] == [("e", -1, "", 0), ("m", 0, "step", 2), ("called", 1, "call", 0)]
        assert "infer_us" not in told["spans"][0], "an ensemble executes nothing itself"


async def test_notes_of_one_request_are_bounded(keeper: RequestKeeper, clock: Clock) -> None:
    request = watched(keeper, "a")
    for number in range(MOST_NOTES + 5):
        step = request_of(at=BEGIN + 1 + number)
        step.watched = below(STEP, [request])
        ended(step)
    ended(request)
    [told] = keeper.look(SALT, 0)
    assert (len(told["spans"]), told["left_out"]) == (MOST_NOTES + 1, 5)


def test_nobody_wants_to_know_of_a_call() -> None:
    assert below(CALL, [request_of()]) is None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("0d6f7f0e-6f2a", "0d6f7f0e-6f2a"),
        ("x" * 64, "x" * 64),
        ("x" * 65, ""),
        ("x" * 1_000_000, ""),
        ("", ""),
        ("a\x00b", ""),
        ("a\tb", ""),
        ("\xff\xfe", ""),
        ("größe", ""),
    ],
)
def test_ids_that_nobody_could_look_for_are_none(value: str, found: str) -> None:
    headers = [("accept", "x"), ("x-request-id", value), ("x-request-id", "b")]
    assert id_of(headers).rstrip() == found.encode()
    assert not found or len(id_of(headers)) > VERSION_AT


def test_a_call_without_an_id() -> None:
    assert id_of([("accept", "x")]) == b""

"""The response cache: what makes requests equal, what it forgets, how hits count."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.ensemble_models import (
    FakeServed,
    model_text,
    plus,
    tensor_text,
)
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core import response_cache
from worker_runtime.core.plans import Planner
from worker_runtime.core.response_cache import ResponseCache, cache_from, request_key
from worker_runtime.core.scheduling import cached
from worker_runtime.core.scheduling.cached import CachedScheduler
from worker_runtime.errors import (
    BackendFailed,
    Cancelled,
    Internal,
    InvalidArgument,
    QueueFull,
    Unavailable,
)
from worker_runtime.types.request import InferRequest, Response
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

LOAD = ("m", 1, 0)


def asked(
    *pairs: tuple[str, Any], outputs: tuple[str, ...] | None = None, parameters: Any = None
) -> InferRequest:
    """A request to a model that takes anything: inputs and outputs of any shape."""
    types = {"<f4": "FP32", "<i4": "INT32", "|O": "BYTES"}
    specs = tuple(
        TensorSpec(name, BY_NAME[types[a.dtype.str]], (-1,) * a.ndim) for name, a in pairs
    )
    results = tuple(TensorSpec(name, BY_NAME["FP32"], (-1,)) for name in ("y", "z"))
    planner = Planner(Signature("m", 0, specs, results))
    plan = planner.plan(tuple((n, types[a.dtype.str], a.shape) for n, a in pairs), outputs)
    buffers = [a if a.dtype.hasobject else a.tobytes() for _, a in pairs]
    return InferRequest(plan=plan, inputs=buffers, sink=RecordingSink(), parameters=parameters)


ONES = np.ones((2, 2), np.float32)


def strings(*items: bytes) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


@pytest.mark.parametrize(
    "other",
    [
        asked(("x", np.ones((4,), np.float32))),  # the same bytes in another shape
        asked(("x", ONES.view(np.int32))),  # and in another type
        asked(("w", ONES)),
        asked(("x", ONES + 1)),
        asked(("x", ONES), outputs=("y",)),
        asked(("x", ONES), parameters={"k": 1}),
        asked(("x", ONES), parameters={"k": True}),
        asked(("x", ONES), parameters={"k": "1"}),
    ],
)
def test_requests_that_differ_have_different_keys(other: InferRequest) -> None:
    assert request_key(LOAD, other) != request_key(LOAD, asked(("x", ONES)))


def test_strings_cannot_run_into_each_other() -> None:
    keys = {
        request_key(LOAD, asked(("x", strings(*items))))
        for items in ((b"ab", b"c"), (b"a", b"bc"), (b"abc", b""))
    }
    assert len(keys) == 3


def test_equal_requests_have_one_key_and_loads_have_their_own() -> None:
    first, second = asked(("x", ONES)), asked(("x", ONES.copy()))
    second.id, second.priority, second.timeout_ns = "other", 3, 4
    assert request_key(LOAD, first) == request_key(LOAD, second)
    assert request_key(("m", 1, 1), first) != request_key(LOAD, first)
    assert request_key(("m", 2, 0), first) != request_key(LOAD, first)


def test_arrays_hash_as_their_bytes() -> None:
    plain, step = asked(("x", ONES)), asked(("x", ONES))
    step.inputs = [ONES]
    assert request_key(LOAD, plain) == request_key(LOAD, step)


def test_the_least_recently_used_go_first() -> None:
    array = np.zeros(250, np.float32)  # 1,000 bytes and its description
    cache = ResponseCache(3000)
    assert cache.insert(b"a", ["y"], [array])
    assert cache.insert(b"b", ["y"], [array])
    assert cache.lookup(b"a") is not None
    assert cache.insert(b"c", ["y"], [array])
    assert cache.lookup(b"b") is None
    assert cache.lookup(b"a") is not None
    assert (len(cache), cache.evictions) == (2, 1)
    assert cache.used_bytes <= 3000


def test_what_never_fits_is_not_kept_and_costs_nobody_a_place() -> None:
    cache = ResponseCache(1000)
    assert cache.insert(b"a", ["y"], [np.zeros(4, np.float32)])
    assert not cache.insert(b"b", ["y"], [np.zeros(1000, np.float32)])
    assert cache.lookup(b"a") is not None


def test_inserting_again_replaces_and_counts_bytes_once() -> None:
    cache = ResponseCache(10_000)
    for size in (4, 8, 4):
        cache.insert(b"a", ["y"], [np.zeros(size, np.float32)])
    alone = cache.used_bytes
    assert len(cache) == 1
    cache.insert(b"b", ["y"], [strings(b"12345", b"")])
    assert cache.used_bytes - alone == 256 + 1 + 64 + 16 + 5


def test_kept_arrays_are_copies_that_nobody_can_change() -> None:
    cache = ResponseCache(10_000)
    array = np.zeros(4, np.float32)
    cache.insert(b"a", ["y"], [array])
    array[:] = 7
    found = cache.lookup(b"a")
    assert found is not None
    assert found.arrays[0].tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        found.arrays[0][0] = 1


class CacheHarness:
    def __init__(self, answer: Any = None, *, ordered: bool = False, size: int = 10_000) -> None:
        tensors = [
            tensor_text(kind, name, [-1]) for kind, name in (("input", "x"), ("output", "y"))
        ]
        self.model = FakeServed(model_text("m", tensors[:1], tensors[1:]), answer)
        self.inner = self.model.scheduler
        self.cache = ResponseCache(size)
        self.scheduler = CachedScheduler(self.inner, self.cache, "m", 1, ordered=ordered)
        self.statistics = self.scheduler.statistics
        self.sink = RecordingSink()

    def submit(self, name: str, value: float, count: int = 2) -> InferRequest:
        plan = self.model.planner.plan((("x", "FP32", (count,)),), None)
        data = np.full(count, value, np.float32).tobytes()
        request = InferRequest(plan=plan, inputs=[data], sink=self.sink, id=name)
        self.scheduler.submit(request)
        return request

    @property
    def answers(self) -> list[tuple[str, Any]]:
        return [(name, outputs[0].tolist()) for name, outputs in self.sink.delivered]


def test_the_second_time_nothing_executes() -> None:
    harness = CacheHarness(plus(1))
    for name in ("first", "second"):
        harness.submit(name, 1)
    harness.submit("other", 2)
    assert harness.answers == [("first", [2, 2]), ("second", [2, 2]), ("other", [3, 3])]
    assert len(harness.inner.seen) == 2
    counted = harness.statistics
    assert (counted.cache_hit_count, counted.cache_miss_count) == (1, 2)
    assert counted.success_count == 1  # the hit: the scheduler inside counts the others
    assert counted.execution_count == counted.row_count == 0
    assert counted.cache_miss_ns > 0


def test_errors_are_not_remembered() -> None:
    harness = CacheHarness()
    for _ in range(2):
        harness.submit("r", 1)
        [waiting] = harness.inner.waiting
        waiting.sink.fail(waiting, BackendFailed("no"))
        harness.inner.waiting.clear()
    assert len(harness.sink.failed) == 2
    assert harness.statistics.cache_miss_count == 0
    harness.submit("r", 1)
    [waiting] = harness.inner.waiting
    waiting.sink.respond(waiting, Response(error=BackendFailed("no")), final=True)
    assert len(harness.cache) == 0


def test_answers_that_name_their_outputs_are_remembered_as_they_are() -> None:
    harness = CacheHarness()
    harness.submit("r", 1)
    [waiting] = harness.inner.waiting
    waiting.sink.respond(waiting, Response((), [], {"k": 1}), final=True)
    harness.submit("r", 1)
    assert [final for _, _, final in harness.sink.responded] == [True, True]
    assert harness.statistics.cache_hit_count == 1


def test_what_does_not_fit_is_a_miss_every_time(caplog: pytest.LogCaptureFixture) -> None:
    harness = CacheHarness(plus(1), size=200)
    for _ in range(2):
        harness.submit("r", 1)
    assert (harness.statistics.cache_hit_count, harness.statistics.cache_miss_count) == (0, 2)
    assert "Failed to insert key" in caplog.text


def test_an_answer_that_cannot_be_kept_is_delivered_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = CacheHarness()
    harness.submit("r", 1)
    odd = np.empty(1, object)
    odd[0] = 7  # not a string: nobody knows its size
    [waiting] = harness.inner.waiting
    waiting.sink.deliver(waiting, [odd])
    assert harness.answers == [("r", [7])]
    assert "Failed to insert key" in caplog.text


def test_a_refused_request_keeps_its_own_sink() -> None:
    harness = CacheHarness(ordered=True)
    harness.inner.refuse = QueueFull("Exceeds maximum queue size")
    with pytest.raises(QueueFull):
        harness.submit("r", 1)
    assert not harness.scheduler.busy


def test_hits_wait_for_their_turn_where_order_is_kept() -> None:
    harness = CacheHarness(ordered=True)
    harness.submit("warm", 1)
    plus(0)(harness.inner.waiting.pop())
    harness.submit("slow", 2)
    harness.submit("hit", 1)
    harness.submit("slow too", 3)
    assert [name for name, _ in harness.answers] == ["warm"]
    assert harness.scheduler.busy
    first, second = harness.inner.waiting
    plus(0)(second)
    assert [name for name, _ in harness.answers] == ["warm"]
    plus(0)(first)
    assert [name for name, _ in harness.answers] == ["warm", "slow", "hit", "slow too"]
    assert not harness.scheduler.busy


def test_hits_do_not_wait_where_order_is_free() -> None:
    harness = CacheHarness()
    harness.submit("warm", 1)
    plus(0)(harness.inner.waiting.pop())
    harness.submit("slow", 2)
    harness.submit("hit", 1)
    assert [name for name, _ in harness.answers] == ["warm", "hit"]


def test_cancelling_a_miss_fails_it_for_its_own_sink() -> None:
    harness = CacheHarness()
    request = harness.submit("r", 1)
    assert harness.scheduler.cancel(request)
    assert len(harness.sink.failed) == 1


LARGE = 500_000  # numbers, 2 MB


@pytest.fixture
def hashed_by(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that made keys."""
    threads: list[threading.Thread] = []

    def key(load: tuple[str, int, int], request: InferRequest) -> bytes:
        threads.append(threading.current_thread())
        return request_key(load, request)

    monkeypatch.setattr(cached, "request_key", key)
    return threads


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


async def test_large_requests_are_hashed_and_large_answers_copied_in_a_thread(
    hashed_by: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 MB stopped the loop for 12 ms."""
    copied_by: list[threading.Thread] = []

    def copied(*arguments: Any) -> Any:
        copied_by.append(threading.current_thread())
        return response_cache.copied(*arguments)

    monkeypatch.setattr(cached, "copied", copied)
    harness = CacheHarness(plus(1), size=10_000_000)
    for number in (1, 2):
        harness.submit("large", 1, LARGE)
        assert len(harness.sink.delivered) == number - 1
        assert (harness.scheduler.busy, harness.scheduler.pending) == (True, 1)
        await until(lambda: not harness.scheduler.busy)
        assert len(harness.sink.delivered) == number
        await until(lambda: len(harness.cache) == 1)
    harness.submit("small", 1)
    assert len(harness.sink.delivered) == 3
    assert harness.statistics.cache_hit_count == 1
    await until(lambda: harness.statistics.cache_miss_count == 2)
    main = threading.main_thread()
    assert [thread is main for thread in hashed_by] == [False, False, True]
    assert len(copied_by) == 1
    assert copied_by[0] is not main
    kept = harness.sink.delivered[1][1][0]
    assert (kept == 2).all()
    assert not kept.flags.writeable


async def test_a_large_answer_that_does_not_fit_is_a_miss(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = CacheHarness(plus(1), size=1_000_000)
    harness.submit("large", 1, LARGE)
    await until(lambda: harness.statistics.cache_miss_count == 1)
    assert "it is larger than the cache" in caplog.text
    assert len(harness.cache) == 0


async def test_large_requests_keep_their_place_where_order_is_kept() -> None:
    harness = CacheHarness(plus(0), ordered=True, size=10_000_000)
    harness.submit("large", 1, LARGE)
    harness.submit("small", 2)
    harness.submit("also large", 3, LARGE)
    assert not harness.sink.delivered
    await until(lambda: not harness.scheduler.busy)
    assert [name for name, _ in harness.sink.delivered] == ["large", "small", "also large"]


async def test_a_request_that_is_being_hashed_can_be_cancelled() -> None:
    harness = CacheHarness(ordered=True)
    request = harness.submit("gone", 1, LARGE)
    harness.submit("next", 1)
    assert harness.scheduler.cancel(request)
    assert request.cancelled
    assert [name for name, _ in harness.sink.failed] == ["gone"]
    assert isinstance(harness.sink.failed[0][1], Cancelled)
    plus(0)(harness.inner.waiting.pop())
    assert [name for name, _ in harness.answers] == ["next"]
    assert not harness.scheduler.busy
    harness.submit("last", 1, LARGE)
    await until(lambda: bool(harness.inner.waiting))
    assert [one.id for one in harness.inner.seen] == ["next", "last"]


async def test_a_large_request_that_is_refused_later_fails_in_its_turn() -> None:
    harness = CacheHarness(ordered=True)
    harness.inner.refuse = QueueFull("Exceeds maximum queue size")
    harness.submit("large", 1, LARGE)
    await until(lambda: bool(harness.sink.failed))
    assert isinstance(harness.sink.failed[0][1], QueueFull)
    assert not harness.scheduler.busy


async def test_a_drain_waits_for_what_is_being_hashed() -> None:
    harness = CacheHarness(plus(0), size=10_000_000)
    harness.submit("large", 1, LARGE)
    await harness.scheduler.drain()
    assert [name for name, _ in harness.sink.delivered] == ["large"]
    with pytest.raises(Unavailable):
        harness.submit("late", 1, LARGE)


async def test_what_is_being_hashed_fails_when_all_ends_at_once() -> None:
    harness = CacheHarness(plus(0))
    harness.submit("large", 1, LARGE)
    harness.scheduler.close()
    assert [type(error) for _, error in harness.sink.failed] == [Unavailable]
    assert not harness.scheduler.busy


def test_what_takes_long_to_hash_or_to_copy() -> None:
    long, short = np.zeros(100_000, np.float32), np.zeros(1_000, np.float32)
    for buffer in (long, long.tobytes(), long.data, bytearray(long.tobytes())):
        assert response_cache.takes_long([buffer])
    for buffer in (short, short.tobytes(), short.data, strings(*[b"a"] * 100)):
        assert not response_cache.takes_long([buffer])
    assert response_cache.takes_long([strings(*[b""] * 2000)])
    assert response_cache.takes_long([strings(b"a" * 300_000)])
    assert response_cache.takes_long([short] * 100)


def test_many_and_long_strings_are_told_apart() -> None:
    """They are hashed some at a time."""
    many = [b"%d" % number for number in range(3000)]
    long = b"x" * 300_000
    rows = (many, [*many[:-1], b"y"], [b"y", *many[1:]], [*many, b""], [long, b"a"], [long, b"b"])
    keys = {request_key(LOAD, asked(("x", strings(*items)))) for items in rows}
    assert len(keys) == len(rows)
    kept = response_cache.copied(["y"], [strings(*many)], 1_000_000)
    assert kept is not None
    assert kept.arrays[0].tolist() == many
    assert kept.byte_size == 256 + 1 + 64 + 8 * 3000 + sum(map(len, many))


def test_a_cache_is_made_from_the_command_line() -> None:
    assert cache_from({}) is None
    cache = cache_from({"local": {"size": "1048576"}})
    assert cache is not None
    assert cache.byte_size == 1 << 20


@pytest.mark.parametrize(
    ("config", "kind", "expected"),
    [
        (
            {"local": {"size": "9999"}, "redis": {}},
            InvalidArgument,
            "found multiple cache configurations, but only a single cache is currently supported",
        ),
        ({"redis": {}}, InvalidArgument, "unable to find 'libtritoncache_redis.so' for cache."),
        (
            {"local": {}},
            InvalidArgument,
            "Failed to initialize LocalCache: config didn't contain a valid 'size' field.",
        ),
        ({"local": {"size": "abc"}}, Internal, "Failed to initialize LocalCache: stoull"),
        ({"local": {"size": "-5"}}, Internal, "Failed to initialize LocalCache: failed to allo"),
        (
            {"local": {"size": "100"}},
            Internal,
            "Failed to initialize LocalCache: Could not initialize buffer in basic_managed_exter",
        ),
    ],
)
def test_a_cache_that_cannot_be(
    config: dict[str, dict[str, str]], kind: type[Exception], expected: str
) -> None:
    with pytest.raises(kind) as caught:
        cache_from(config)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(expected)

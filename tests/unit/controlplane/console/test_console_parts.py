"""Frames, outbox, answers and timing of the sockets."""

import asyncio
import json
import math
import weakref
from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.console import frames, reading
from controlplane.console.grpc_inference import request_of
from controlplane.console.inference import (
    Call,
    InferenceFailed,
    Target,
    model_path,
    parse_http,
    refused,
)
from controlplane.console.outbox import MAX_WAITING, Outbox
from controlplane.console.timing import PARTS, Counters, counters, timing


def test_requests_are_read_and_bounded() -> None:
    assert frames.parse('{"op":"sub","topic":"endpoint:a","range":1e9}') == frames.Subscribe(
        "endpoint:a", frames.MAX_RANGE_S, None
    )
    assert frames.parse('{"op":"sub","topic":"events","after_seq":5}') == frames.Subscribe(
        "events", frames.DEFAULT_RANGE_S, 5
    )
    assert frames.parse('{"op":"unsub","topic":"overview"}') == frames.Unsubscribe("overview")
    assert frames.parse('{"op":"rate","hz":100}') == frames.Rate(frames.MAX_HZ)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"op":"sub"}',
        '{"op":"sub","topic":"endpoint:"}',
        '{"op":"sub","topic":"endpoint:a\\u0000"}',
        '{"op":"sub","topic":"operation:\\ud800"}',
        '{"op":"sub","topic":"endpoint"}',
        '{"op":"sub","topic":["events"]}',
        '{"op":"sub","topic":"endpoint:a","range":"long"}',
        '{"op":"sub","topic":"endpoint:a","range":NaN}',
        '{"op":"sub","topic":"events","after_seq":1.5}',
        '{"op":"sub","topic":"events","after_seq":true}',
        "[" * 4000,
        '{"op":"rate","hz":' + "9" * 400 + "}",
        '{"op":"sub","topic":"events","range":-' + "9" * 400 + "}",
    ],
)
def test_what_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(frames.BadRequest):
        frames.parse(text)


def test_frames_are_json_that_every_browser_reads() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    text = frames.dump({"at": at, "v": [1.0, math.nan, math.inf, None]})
    assert json.loads(text) == {"at": "2026-01-02T03:04:05Z", "v": [1.0, None, None, None]}


class Frame(str):
    """One that can be looked for."""

    __slots__ = ("__weakref__",)


async def running(outbox: Outbox) -> "asyncio.Task[None]":
    return asyncio.create_task(outbox.run())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_of_waiting_ticks_only_the_newest_is_sent() -> None:
    sent: list[str] = []
    gate = asyncio.Event()

    async def send(frame: str) -> None:
        await gate.wait()
        sent.append(frame)

    async def overflow() -> None:
        raise AssertionError("no overflow expected")

    outbox = Outbox(send, overflow)
    task = await running(outbox)
    outbox.put("state")
    await settle()
    for number in range(100):
        outbox.put_tick("a", f"tick {number}")
    outbox.put_tick("b", "other")
    gate.set()
    await settle()
    task.cancel()
    assert sent[0] == "state"
    assert sorted(sent[1:]) == ["other", "tick 99"]


async def test_a_browser_that_does_not_read_is_let_go() -> None:
    gate, gone = asyncio.Event(), asyncio.Event()

    async def send(frame: str) -> None:
        await gate.wait()

    async def overflow() -> None:
        gone.set()

    outbox = Outbox(send, overflow)
    task = await running(outbox)
    for number in range(MAX_WAITING + 1):
        outbox.put(str(number))
    await asyncio.wait_for(gone.wait(), 5)
    await task


async def test_a_browser_that_stops_reading_amid_a_frame_is_let_go_and_costs_no_memory() -> None:
    gone = asyncio.Event()

    async def send(frame: str) -> None:
        await asyncio.Event().wait()

    async def overflow() -> None:
        gone.set()

    outbox = Outbox(send, overflow)
    task = await running(outbox)
    outbox.put("the one that it does not read")
    await settle()
    frame = weakref.ref(first := Frame("first"))
    outbox.put(first)
    del first
    for number in range(5 * MAX_WAITING):
        outbox.put(str(number))
    assert frame() is None
    await asyncio.wait_for(gone.wait(), 5)
    await task


async def test_a_connection_that_broke_ends_the_sending() -> None:
    async def send(frame: str) -> None:
        raise ConnectionError(frame)

    async def overflow() -> None:
        raise AssertionError("no overflow expected")

    outbox = Outbox(send, overflow)
    outbox.put("state")
    with pytest.raises(ConnectionError, match="state"):
        await outbox.run()


async def test_a_slow_rate_drops_ticks_but_nothing_else() -> None:
    sent: list[str] = []

    async def send(frame: str) -> None:
        sent.append(frame)

    async def overflow() -> None:
        raise AssertionError("no overflow expected")

    outbox = Outbox(send, overflow)
    outbox.min_interval_s = 60.0
    task = await running(outbox)
    for number in range(3):
        outbox.put_tick("a", f"tick {number}")
        outbox.put(f"event {number}")
        await settle()
    task.cancel()
    assert sent == ["event 0", "tick 0", "event 1", "event 2"]


@pytest.mark.parametrize("where", ["deployment", "model", "version", "id"])
def test_half_a_character_is_refused_where_it_comes_in(where: str) -> None:
    """Neither a URL nor gRPC nor the database takes one."""
    text = json.dumps({where: "\ud800"})
    with pytest.raises(frames.BadRequest, match="surrogates"):
        reading.parse(text)
    assert reading.parse(json.dumps({where: "\U0001f600 \\ud800", "inputs": ["\ud800"]}))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_a_parameter_that_no_protocol_carries_is_refused_by_its_name(value: int) -> None:
    with pytest.raises(frames.BadRequest, match=f"parameters.priority: .*{value}"):
        reading.parameters({"parameters": {"priority": value}})


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), True, "7"])
def test_a_parameter_that_grpc_carries_is_taken(value: int | str) -> None:
    call = Call("m", [], parameters=reading.parameters({"parameters": {"priority": value}}))
    told = request_of(call).parameters["priority"]
    assert getattr(told, told.WhichOneof("parameter_choice")) == value


def test_an_answer_with_binary_tensors_is_read() -> None:
    head = json.dumps(
        {
            "model_version": "3",
            "outputs": [
                {"name": name, "datatype": "UINT8", "shape": [2], "parameters": parameters}
                for name, parameters in (
                    ("a", {"binary_data_size": 2}),
                    ("b", {"binary_data_size": 2}),
                )
            ],
        }
    ).encode()
    outputs, version = parse_http(head + b"\1\2\3\4", str(len(head)))
    assert version == "3"
    assert [output.raw for output in outputs] == [b"\1\2", b"\3\4"]


@pytest.mark.parametrize("content", [b"", b"<html>", b'{"outputs": 5}', b'{"outputs": [{}]}'])
def test_an_answer_that_is_none_is_said_so(content: bytes) -> None:
    with pytest.raises(InferenceFailed) as raised:
        parse_http(content, None)
    assert raised.value.code == "AnswerUnreadable"


def test_refusals_keep_the_servers_words() -> None:
    error = refused(400, '{"error": "[request id: 1] expected 3"}')
    assert (error.code, error.triton, error.status) == (
        "InvalidInput",
        "[request id: 1] expected 3",
        400,
    )
    assert refused(503, "plain").triton == "plain"
    assert refused(408, "{}").code == "Timeout"


def test_names_are_quoted_in_paths() -> None:
    assert model_path("a/b:0", "infer") == "v2/models/a%2Fb%3A0/infer"
    target = Target("http://g:1", "digits", "k", "blue")
    assert target.url("v2") == "http://g:1/endpoints/digits/v2"
    assert target.headers()["x-shoal-deployment"] == "blue"
    assert target.grpc_target == "g:1"


def stats(count: int, ns: int) -> Any:
    return {
        "model_stats": [
            {"inference_stats": {part: {"count": count, "ns": ns * count} for part in PARTS}}
        ]
    }


def test_parts_are_the_difference_of_two_readings() -> None:
    found = timing(
        total_us=5000.0,
        upstream_us=4000.0,
        before=counters(stats(10, 100_000)),
        after=counters(stats(12, 100_000)),
    )
    assert found["gateway_us"] == 1000.0
    assert found["queue_us"] == 100.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, Counters({}, {})),
        (counters(stats(10, 1000)), counters(stats(10, 1000))),
        (counters(stats(12, 1000)), counters(stats(10, 1000))),
        (counters(stats(10, 1000)), counters(stats(11, 10**9))),
    ],
)
def test_what_cannot_be_true_is_left_out(before: Counters | None, after: Counters | None) -> None:
    found = timing(total_us=50.0, upstream_us=None, before=before, after=after)
    assert all(found[f"{part}_us"] is None for part in PARTS)
    assert found["gateway_us"] is None


@pytest.mark.parametrize("data", [None, [], {}, {"model_stats": []}, {"model_stats": [{}]}])
def test_statistics_that_are_none_give_none(data: Any) -> None:
    assert counters(data) is None

"""What a replica answers is a stranger's word: it costs the agent, and other replicas, nothing."""

import asyncio
import contextlib
import gzip
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from node_agent import answers, sampler, trial
from node_agent.failure import ReplicaFailed
from node_agent.probe import RuntimeProbe
from node_agent.reasons import LONGEST, load_failed

MIB = 1 << 20
HERE = "127.0.0.1"
TIMEOUT_S = 0.5
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[int]:
    """A server that gives every request the same answer; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        writer.close()

    server = await asyncio.start_server(serve, HERE, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def with_body(body: bytes, *headers: str) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", "Connection: close", *headers]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await writer.drain()

    return answer


async def without_end(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(bytes(MIB))
        await writer.drain()


async def a_header_at_a_time(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await drip(writer, b"A: b\r\n")


async def a_byte_at_a_time(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await drip(writer, b"x")


async def drip(writer: asyncio.StreamWriter, drop: bytes) -> None:
    while True:
        writer.write(drop)
        await writer.drain()
        await asyncio.sleep(TIMEOUT_S / 10)  # the pace of what is tested


@pytest.mark.parametrize("answer", [without_end, a_header_at_a_time, a_byte_at_a_time])
async def test_an_answer_without_end_is_none(answer: Answer) -> None:
    async with answering(answer) as port, answers.client(TIMEOUT_S) as client:
        tracemalloc.start()
        try:
            async with asyncio.timeout(20 * TIMEOUT_S):
                with pytest.raises((httpx.ReadError, httpx.ReadTimeout)):
                    await client.get(f"http://{HERE}:{port}/metrics")
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 8 * MIB


async def test_an_answer_is_not_unpacked() -> None:
    packed = gzip.compress(bytes(64 * MIB))
    assert len(packed) < answers.LIMIT_BYTES
    async with (
        answering(with_body(packed, "Content-Encoding: gzip")) as port,
        answers.client(TIMEOUT_S) as client,
    ):
        answer = await client.get(f"http://{HERE}:{port}/")
    assert answer.content == packed


async def test_a_replica_puts_nothing_into_the_calls_to_another() -> None:
    async with (
        answering(with_body(b"", "Set-Cookie: seen=1; Path=/")) as port,
        answers.client(TIMEOUT_S) as client,
    ):
        await client.get(f"http://{HERE}:{port}/")
        assert not client.cookies


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1e300"])
async def test_a_counter_that_no_message_carries_is_no_sample(value: str) -> None:
    """One of them made the control plane refuse the samples of the whole node."""
    text = f'nv_inference_count{{model="m",version="1"}} {value}\n'
    async with answering(with_body(text.encode())) as port, answers.client(5.0) as client:
        with pytest.raises(ValueError, match="inference_count"):
            sampler.parse((await sampler.scrape(client, HERE, port)).models)


@pytest.mark.parametrize(
    "config",
    [b'{"a": NaN}', b'{"a": 1e999}', b"[" * 100 + b"]" * 100, b'"' + bytes(2 * MIB) + b'"'],
)
async def test_a_configuration_that_no_message_carries_fails_the_trial_alone(config: bytes) -> None:
    """One of them made the control plane refuse every report of the node, which then was lost."""
    async with answering(with_body(config)) as port:
        with pytest.raises(ReplicaFailed) as caught:
            await trial.served_configs(HERE, port, ("m",))
    assert caught.value.problem.code == "ConfigUnavailable"


def test_a_reason_is_no_longer_than_a_report_may_be() -> None:
    problem = load_failed("m", "x" * (32 * MIB)).problem
    assert len(problem.detail) == LONGEST
    assert len(problem.message) < LONGEST


async def test_what_the_first_inference_answers_is_not_kept() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        if asked.pop(0) == "infer":
            writer.write(b"HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n")
            for _ in range(64):
                writer.write(b"x" * MIB)
                await writer.drain()
        else:
            await with_body(b'{"inputs": []}')(writer)

    asked = ["metadata", "config", "infer"]
    async with answering(answer) as port:
        probe = RuntimeProbe(HERE, port)
        tracemalloc.start()
        try:
            refusal = await probe.warm("m")
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            await probe.close()
    assert refusal == "x" * 500
    assert most < 8 * MIB


async def test_what_is_not_installed_is_not_looked_for_with_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []

    class Looks:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            looked.append(name)

    async with (
        answering(with_body(b"{}")) as port,
        answers.client(5, f"http://{HERE}:{port}") as it,
    ):
        await it.get("/")  # imports that are made once
        monkeypatch.setattr("sys.meta_path", [Looks(), *sys.meta_path])
        await it.get("/")
    assert looked == []

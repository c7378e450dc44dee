"""The agent's side of wake-ups: what is one, what is silence, and what is no such stream."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from node_agent import client as client_module
from node_agent import wake_up
from node_agent.backoff import Backoff
from node_agent.client import ControlClient
from tests.support.reaper import clean_environment
from wire import wake_up as protocol
from wire.wake_up import ALIVE, WAKE_UP

Answer = Callable[[], httpx.Response]


class Stop(Exception):
    """The test has seen enough."""


class Delays(Backoff):
    """No delay at all; keeps what is done with it, and ends the listening at its limit."""

    def __init__(self, tries: int) -> None:
        super().__init__(first_s=0.0, limit_s=0.0)
        self.left = tries
        self.resets = 0

    def next(self) -> float:
        self.left -= 1
        if self.left <= 0:
            raise Stop
        return 0.0

    def reset(self) -> None:
        self.resets += 1


class Stream(httpx.AsyncByteStream):
    def __init__(self, *chunks: bytes | Exception) -> None:
        self.chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


def streamed(*chunks: bytes | Exception) -> Answer:
    return lambda: httpx.Response(200, stream=Stream(*chunks))


async def listened(*answers: Answer) -> tuple[int, Delays, list[httpx.Request]]:
    """Wake-ups, delays, and requests of an agent that opens the stream once for each answer."""
    wakes = 0
    requests: list[httpx.Request] = []

    def wake() -> None:
        nonlocal wakes
        wakes += 1

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answers[len(requests) - 1]()

    client = ControlClient("http://control", transport=httpx.MockTransport(answer))
    client.use_credential("snode_n1_secret")
    delays = Delays(len(answers))
    with pytest.raises(Stop):
        await wake_up.listen(client, wake, delays, asyncio.Event())
    await client.close()
    return wakes, delays, requests


@pytest.mark.parametrize(
    ("chunks", "wakes", "lines"),
    [
        ([WAKE_UP], 1, 1),
        ([WAKE_UP + WAKE_UP + ALIVE], 2, 3),
        ([b"ri", b"ng", b"\nali", b"ve\n", b"r"], 1, 2),
        ([b"", WAKE_UP, b""], 1, 1),
        ([ALIVE, ALIVE], 1, 2),  # what came before the stream was not heard
        ([], 0, 0),
        ([b"ring"], 0, 0),
        ([httpx.ReadTimeout("silence")], 0, 0),
        ([WAKE_UP, httpx.ReadError("cut")], 1, 1),
        ([WAKE_UP, httpx.RemoteProtocolError("cut in a chunk")], 1, 1),
        ([b"\xff\xfe\x00\n"], 0, 0),
        ([b"<html>\n", WAKE_UP], 0, 0),
        ([b"RING\n"], 0, 0),
        ([b"ring\r\n"], 0, 0),
        ([b"\n"], 0, 0),
        ([WAKE_UP, b"x" * 65, WAKE_UP], 1, 1),
        ([b"x" * 2**20], 0, 0),
    ],
)
async def test_what_wakes(chunks: list[bytes | Exception], wakes: int, lines: int) -> None:
    """However it ends, the stream is opened again; what is none is left at once. The end of one
    that was there is a reason to look, too."""
    found, delays, requests = await listened(streamed(*chunks), streamed(WAKE_UP))
    assert (found, delays.resets, len(requests)) == (wakes + bool(lines) + 2, lines + 1, 2)


async def test_while_it_flows_it_says_so() -> None:
    flows, seen = asyncio.Event(), []
    answers = [streamed(ALIVE, WAKE_UP), streamed(b"nonsense\n"), streamed(WAKE_UP)]
    client = ControlClient(
        "http://control", transport=httpx.MockTransport(lambda _: answers.pop(0)())
    )
    with pytest.raises(Stop):
        await wake_up.listen(client, lambda: seen.append(flows.is_set()), Delays(3), flows)
    await client.close()
    # as each begins, at its wake-ups, and as it has ended
    assert seen == [False, True, False, False, False]
    assert not flows.is_set()


async def test_a_line_without_end_is_left_early() -> None:
    taken = 0

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            nonlocal taken
            while True:
                taken += 1
                yield b"r" * 16

    await listened(lambda: httpx.Response(200, stream=Endless()))
    assert taken <= protocol.LONGEST_LINE // 16 + 1


@pytest.mark.parametrize("status", [204, 301, 307, 401, 403, 404, 413, 429, 500, 502, 503])
async def test_whoever_refuses_is_asked_again_later(status: int) -> None:
    """A control plane of the version before answers 404."""
    refusal = lambda: httpx.Response(status, headers={"Location": "http://evil/"}, json={})  # noqa: E731
    wakes, delays, requests = await listened(refusal, refusal, streamed(WAKE_UP))
    assert (wakes, delays.resets) == (2, 1)
    assert {str(request.url) for request in requests} == {"http://control/agent/v1/wake-ups"}
    assert {request.headers["Authorization"] for request in requests} == {"Bearer snode_n1_secret"}


async def test_lost_wake_ups_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    gone = lambda: httpx.Response(503)  # noqa: E731
    await listened(gone, gone, gone, streamed(ALIVE, WAKE_UP), gone, gone)
    said = [record.message.partition(":")[0] for record in caplog.records]
    told = [text for text in said if text.startswith(("No wake-ups", "Wake-ups"))]
    lost = "No wake-ups, desired state is polled meanwhile"
    assert told == [lost, "Wake-ups arrive again", lost]


async def test_silence_of_three_lines_of_life_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a real connection, whose other end stays silent and open."""
    monkeypatch.setattr(client_module, "LIFE_S", 0.1)
    asked = asyncio.Event()
    opened = 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nalive\n\r\n")
        if opened == 2:
            asked.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = ControlClient(f"http://127.0.0.1:{port}")
    listening = asyncio.create_task(
        wake_up.listen(client, lambda: None, Backoff(first_s=0.01, limit_s=0.01), asyncio.Event())
    )
    async with asyncio.timeout(10):
        await asked.wait()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await client.close()
    server.close()


async def test_the_agent_knows_no_broker() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import sys, node_agent.__main__;"
        "print(sorted({'celery', 'kombu', 'redis'} & sys.modules.keys()))",
        env=clean_environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert (process.returncode, out.decode().strip()) == (0, "[]")

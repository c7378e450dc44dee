"""Answers for a model that calls others: in order, without waiting, and nothing stays behind."""

import json
import marshal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

from worker_runtime.backends.base import Host, ModelCall
from worker_runtime.backends.python.calls import Calls, Replies
from worker_runtime.backends.python.process import StubProcess
from worker_runtime.backends.python.stub.shoal_stub.channel import Channel, dumps
from worker_runtime.errors import NotFound
from worker_runtime.types.request import Response

MANY = 20_000  # more than the socket takes


class Process(NamedTuple):
    channel: Channel


class Sides(NamedTuple):
    """The server's side of a model's process, and the channel that the model has."""

    process: StubProcess
    model: Channel


@pytest.fixture
def sides(request: pytest.FixtureRequest) -> Iterator[Sides]:
    limit = getattr(request, "param", 0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = Channel(ours, lambda message: marshal.dumps(message, 2), json.loads, limit)
    model = Channel(theirs, dumps, marshal.loads)
    try:
        yield Sides(cast("StubProcess", Process(server)), model)
    finally:
        server.close()
        model.close()


def answer(number: int, size: int = 1) -> Response:
    return Response(("OUTPUT0",), [np.full(size, number, np.int64)])


def read(model: Channel) -> tuple[int, bool, Any]:
    """Call, whether it was the last, and its first element or its error."""
    message = model.receive()
    data = message["response"]
    if data is None or "error" in data:
        return message["call"], message["final"], data and data["error"]
    ((_, _, _, block),) = data["tensors"]
    return message["call"], message["final"], int(model.window.look(block).view("<i8")[0])


def test_answers_keep_their_order_though_nobody_reads(sides: Sides) -> None:
    replies = Replies("m", sides.process)
    large = MANY // 2
    for number in range(MANY):  # returns, which is what this is about
        replies.send(7, answer(number, 100_000 if number == large else 1), final=False)
    replies.send(7, None, final=True)
    assert [read(sides.model) for _ in range(MANY)] == [(7, False, n) for n in range(MANY)]
    assert read(sides.model) == (7, True, None)
    replies.close()


def test_what_waits_goes_with_the_process(sides: Sides) -> None:
    replies = Replies("gone", sides.process)
    for number in range(MANY):
        replies.send(7, answer(number), final=False)
    (writer,) = [t for t in threading.enumerate() if t.name == "gone-replies"]
    replies.close()
    sides.model.close()
    writer.join(10)
    assert not writer.is_alive()
    replies.send(8, answer(0), final=True)
    assert not [t for t in threading.enumerate() if t.name == "gone-replies"]


@pytest.mark.parametrize("sides", [1 << 20], indirect=True)
def test_an_answer_beyond_the_limit_of_memory_is_an_error(sides: Sides) -> None:
    replies = Replies("m", sides.process)
    replies.send(7, answer(0, 1 << 20), final=True)
    call, final, (code, text) = read(sides.model)
    replies.close()
    assert (call, final, code) == (7, True, 1)
    assert "would exceed the limit of 1048576" in text


class Quick:
    """A server whose answers come before the call has returned."""

    def __init__(self) -> None:
        self.cancelled = 0

    def infer(
        self, call: ModelCall, answered: Callable[[Response | None, bool], None]
    ) -> Callable[[], None]:
        answered(Response(error=NotFound(f"no {call.model}")), True)
        return self._cancel

    def _cancel(self) -> None:
        self.cancelled += 1


def test_a_call_that_ends_at_once_leaves_nothing_behind(sides: Sides) -> None:
    host = Quick()
    calls = Calls(("m", "1"), cast("Host", host), sides.process, lambda _: None, lambda _: None)
    request = {
        "model": "x", "version": -1, "corr": 0, "flags": 0, "inputs": [], "outputs": [], "id": "",
        "timeout": 0, "parameters": "{}", "trace": 0,
    }  # fmt: skip
    calls.handle({"op": "bls", "call": 3, "decoupled": False, "request": request})
    assert read(sides.model) == (3, True, [2, "no x"])
    calls.abandon()
    assert host.cancelled == 0

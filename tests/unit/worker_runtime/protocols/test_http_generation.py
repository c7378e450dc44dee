"""Answers of generate: large ones are written while others are served, and none overtakes."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worker_runtime.errors import Internal
from worker_runtime.protocols.http import generation
from worker_runtime.protocols.http.generation import Generation, StreamedInfer
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.tensors import SLICE_ELEMENTS
from worker_runtime.protocols.slices import Slices
from worker_runtime.types.request import Response

LARGE = np.arange(10 * SLICE_ELEMENTS, dtype=np.float32)
SMALL = np.float32([7])
MODEL: Any = SimpleNamespace(name="m", version=1, signature=SimpleNamespace(outputs=()))


class Connection:
    """What a sink asks of its connection, written down; ``request`` is None once it has ended."""

    def __init__(self) -> None:
        form = SimpleNamespace(outputs={}, special=False, heads=None)
        self.request: Any = SimpleNamespace(id="", form=form, model=MODEL)
        self.status = 0
        self.text = b""
        self.largest = 0
        self.aborted = False

    def begin(self, status: int, _content_type: bytes, _headers: bytes) -> None:
        self.status = status

    def piece(self, *parts: bytes) -> None:
        assert any(parts), "an empty piece would end the answer"
        self.text += b"".join(parts)
        self.largest = max(self.largest, *map(len, parts))

    def end(self) -> None:
        self.request = None

    def abort(self) -> None:
        self.aborted = True
        self.request = None


def asked(give: Callable[[Generation, Any], None], *, streaming: bool = True) -> tuple[Any, int]:
    """What came of the answers that ``give`` gives, and turns of the loop that others had."""

    async def whole() -> int:
        sink = Generation(connection, Slices(), MODEL, streaming=streaming)
        give(sink, connection.request)
        turns = 0
        while connection.request is not None:
            turns += 1
            await asyncio.sleep(0)
        return turns

    connection: Any = Connection()
    return connection, asyncio.run(whole())


def events(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(event.removeprefix(b"data: ")) for event in text.split(b"\n\n") if event]


def answer(array: Any, name: str = "y", **parameters: Any) -> Response:
    return Response((name,), [array], parameters or None)


def test_a_large_answer_is_written_in_turns_with_others() -> None:
    connection, turns = asked(
        lambda sink, request: sink.respond(request, answer(LARGE, z="end"), final=True),
        streaming=False,
    )
    assert connection.status == 200
    found = json.loads(connection.text)
    assert list(found) == ["model_name", "model_version", "y", "z"]
    np.testing.assert_array_equal(np.float32(found["y"]), LARGE)
    assert turns >= LARGE.size // SLICE_ELEMENTS
    assert connection.largest < len(connection.text) / 5


def test_a_long_text_alone_is_no_list() -> None:
    text = "ü" * 300_000
    array = np.array([text.encode()], dtype=object)
    connection, turns = asked(
        lambda sink, request: sink.respond(request, answer(array), final=True), streaming=False
    )
    assert json.loads(connection.text)["y"] == text
    assert turns > 5


def test_no_answer_overtakes_a_large_one() -> None:
    def give(sink: Generation, request: Any) -> None:
        for array in (SMALL, LARGE, SMALL, LARGE):
            sink.respond(request, answer(array), final=False)
        sink.respond(request, Response(error=Internal("one was bad")), final=False)
        sink.respond(request, None, final=False)
        sink.fail(request, Internal("the model ended"))

    connection, _ = asked(give)
    found = events(connection.text)
    assert [np.size(event["y"]) for event in found[:4]] == [1, LARGE.size, 1, LARGE.size]
    assert [event["error"] for event in found[4:]] == ["one was bad", "the model ended"]


def test_the_first_answer_settles_the_status_even_where_it_takes_long() -> None:
    def give(sink: Generation, request: Any) -> None:
        sink.respond(request, answer(LARGE), final=False)
        sink.fail(request, Internal("too late"))

    connection, _ = asked(give)
    assert connection.status == 200
    assert events(connection.text)[1] == {"error": "too late"}


def test_two_answers_are_as_wrong_where_they_are_large() -> None:
    def give(sink: Generation, request: Any) -> None:
        sink.respond(request, answer(LARGE), final=False)
        sink.respond(request, answer(LARGE), final=True)

    connection, _ = asked(give, streaming=False)
    assert "exactly 1 response" in json.loads(connection.text)["error"]


def test_an_output_that_json_cannot_carry_is_an_error_however_large() -> None:
    connection, _ = asked(
        lambda sink, request: sink.respond(request, answer(LARGE.astype(np.float16)), final=True)
    )
    assert connection.status == 400
    assert "FP16 data via JSON is not supported" in events(connection.text)[0]["error"]


def test_answers_that_come_faster_than_they_are_written_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generation, "_MOST_BEHIND", 3 * LARGE.nbytes)

    def give(sink: Generation, request: Any) -> None:
        for number in range(6):
            assert request.id == "", "nothing is given to who has gone"
            sink.respond(request, answer(LARGE), final=number == 5)

    connection, _ = asked(give)
    assert connection.aborted
    assert connection.text == b""


def test_texts_that_wait_are_counted_by_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    text = np.array([b"x" * 300_000], dtype=object)
    monkeypatch.setattr(generation, "_MOST_BEHIND", 1_000_000)

    def give(sink: Generation, request: Any) -> None:
        for number in range(10):
            sink.respond(request, answer(text), final=number == 9)

    connection, _ = asked(give)
    assert connection.aborted


def test_an_answer_alone_may_be_larger_than_what_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "_MOST_BEHIND", LARGE.nbytes // 2)

    def give(sink: Generation, request: Any) -> None:
        sink.respond(request, answer(LARGE), final=False)
        sink.respond(request, answer(LARGE), final=True)

    connection, _ = asked(give)
    assert not connection.aborted
    assert [np.size(event["y"]) for event in events(connection.text)] == [LARGE.size] * 2


def test_many_answers_behind_a_large_one_take_several_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(generation, "monotonic", lambda: now[0])
    piece = Connection.piece

    def slow(connection: Connection, *parts: bytes) -> None:
        now[0] += 0.0003
        piece(connection, *parts)

    monkeypatch.setattr(Connection, "piece", slow)

    def give(sink: Generation, request: Any) -> None:
        sink.respond(request, answer(LARGE), final=False)
        for number in range(100):
            sink.respond(request, answer(np.float32([number])), final=number == 99)

    connection, turns = asked(give)
    assert [event["y"] for event in events(connection.text)[1:]] == [*range(100)]
    assert turns >= LARGE.size // SLICE_ELEMENTS + 100 // 4


def test_a_client_that_goes_meanwhile_costs_nothing_more() -> None:
    async def whole() -> None:
        sink = Generation(connection, Slices(), MODEL, streaming=True)
        sink.respond(connection.request, answer(LARGE), final=True)
        await asyncio.sleep(0)
        connection.request = None
        for _ in range(2 * LARGE.size // SLICE_ELEMENTS):
            await asyncio.sleep(0)

    connection: Any = Connection()
    asyncio.run(whole())
    assert connection.text == b""


def test_events_of_infer_are_written_the_same_way() -> None:
    async def whole() -> int:
        head = Head("POST", "/", (("Accept", "text/event-stream"),), True, False)
        sink = StreamedInfer(connection, Slices(), MODEL, head)
        request = connection.request
        sink.respond(request, answer(LARGE), final=False)
        sink.respond(request, answer(SMALL), final=True)
        turns = 0
        while connection.request is not None:
            turns += 1
            await asyncio.sleep(0)
        return turns

    connection: Any = Connection()
    turns = asyncio.run(whole())
    first, second = events(connection.text)
    assert turns >= LARGE.size // SLICE_ELEMENTS
    assert first["outputs"][0]["shape"] == [LARGE.size]
    assert second["outputs"][0]["data"] == [7]

"""The process's conversation with the server: who waits for which message."""

import asyncio
import itertools
import os
import threading
import time
from typing import Any, Optional

from .channel import Channel
from .objects import InferenceRequest, InferenceResponse
from .reading import Box, Reading, when_gone
from .tensors import TritonModelException

_LAST_GRACE_S = 5.0
# Beyond these a model that answers faster than the server hands on has to wait.
_MAX_LENT_BYTES = 64 << 20
_MAX_LENT_BLOCKS = 1024
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05


class Session:
    """The main thread executes; any thread may call or answer; whoever waits reads."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.model_name = ""
        self.instance_name = ""
        self.model_version = 1
        self.decoupled = False
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self.work: Box[Any] = Box()
        self._waiting: dict[int, _Call] = {}
        self._numbers = itertools.count(1)
        self._batch_answers: dict[int, Any] = {}
        self._answer_came = threading.Condition()
        self._can_call = False
        self._reading = Reading(channel, self._deliver, self._lost)

    # --- receiving ---------------------------------------------------------------------------

    def start(self) -> None:
        self._reading.start()
        when_gone(self.channel, _give_up)

    def allow_calls(self, allowed: bool = True) -> None:
        self._can_call = allowed

    def next_work(self) -> "Optional[dict[str, Any]]":
        """What the server wants of the model next (blocking); None when it is gone."""
        found: Optional[dict[str, Any]] = self._reading.wait(self.work)
        return found

    def _deliver(self, message: "dict[str, Any]") -> None:
        if message["op"] != "reply":
            self.work.put(message)
            return
        call = self._waiting.get(message["call"])
        if call is not None:
            if message["final"]:
                del self._waiting[message["call"]]
                call.over()
            call.put(message)

    def _lost(self) -> None:
        self.work.put(None)
        for call in list(self._waiting.values()):
            call.put(None)

    # --- answering ---------------------------------------------------------------------------

    def respond(
        self, request: InferenceRequest, response: Optional[InferenceResponse], *, final: bool
    ) -> None:
        if self.decoupled:
            self._wait_for_room()
        data = response.described(self) if response is not None else None
        if self.decoupled:
            self.channel.send(
                {"op": "response", "n": request._number, "response": data, "final": final}
            )
        elif data is not None:
            with self._answer_came:
                self._batch_answers[request._number] = data
                self._answer_came.notify_all()

    def _wait_for_room(self) -> None:
        """Let the server catch up: answers that it has not handed on yet take memory."""
        arena, pause_s = self.channel.arena, _FIRST_PAUSE_S
        while arena.lent_bytes > _MAX_LENT_BYTES or arena.lent_blocks > _MAX_LENT_BLOCKS:
            self.ask({"op": "room"})
            if arena.lent_bytes > _MAX_LENT_BYTES or arena.lent_blocks > _MAX_LENT_BLOCKS:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def take_answers(self) -> "dict[int, Any]":
        """What response senders of the batch said, by request."""
        with self._answer_came:
            answers, self._batch_answers = self._batch_answers, {}
        return answers

    def late_answers(self, numbers: "list[int]") -> "dict[int, Any]":
        """Wait until the senders of these requests have answered (blocking)."""
        if not numbers:
            return {}
        with self._answer_came:
            self._answer_came.wait_for(lambda: all(n in self._batch_answers for n in numbers))
        return self.take_answers()

    # --- calling -----------------------------------------------------------------------------

    def ask(self, message: "dict[str, Any]") -> "dict[str, Any]":
        """Send a question and wait for its one answer. Raises TritonModelException."""
        call = _Queued(self._reading)
        reply: dict[str, Any] = self._start(message, call).take()
        error = reply.get("error")
        if error is not None:
            raise TritonModelException(error[1])
        return reply

    def is_cancelled(self, number: int) -> bool:
        """Ask whether the client of a request has gone."""
        call = _Queued(self._reading)
        return bool(self._start({"op": "cancelled", "n": number}, call).take()["gone"])

    def call(self, request: InferenceRequest, *, decoupled: bool) -> Any:
        self._check_calls()
        call = _Queued(self._reading)
        number = self._send_call(request, call, decoupled=decoupled)
        if decoupled:
            return ResponseIterator(self, number, call)
        return _response(call.take(), self)

    def call_async(self, request: InferenceRequest, *, decoupled: bool) -> Any:
        """An awaitable of what ``call`` returns."""
        self._check_calls()
        if decoupled:
            call = _Queued(self._reading)
            number = self._send_call(request, call, decoupled=True)
            return _done(ResponseIterator(self, number, call))
        awaited = _Awaited(self._reading, asyncio.get_running_loop())
        self._send_call(request, awaited, decoupled=False)
        return self._wait(awaited)

    async def _wait(self, call: "_Awaited") -> InferenceResponse:
        return _response(await call.take(), self)

    def _check_calls(self) -> None:
        if not self._can_call:
            raise TritonModelException("BLS is only supported during the 'execute' function.")

    def _send_call(self, request: InferenceRequest, call: "_Call", *, decoupled: bool) -> int:
        message: dict[str, Any] = {
            "op": "bls",
            "request": request.described(),
            "decoupled": decoupled,
        }
        self._start(message, call)
        number: int = message["call"]
        return number

    def _start(self, message: "dict[str, Any]", call: Any) -> Any:
        number = next(self._numbers)
        message["call"] = number
        self._waiting[number] = call
        try:
            self.channel.send(message)
        except BaseException:
            if self._waiting.pop(number, None) is not None:
                call.over()
            raise
        return call

    def cancel_call(self, number: int) -> None:
        if number in self._waiting:
            self.channel.send({"op": "bls_cancel", "call": number})


class _Call:
    """What somebody waits for."""

    def put(self, message: Any) -> None:
        raise NotImplementedError

    def over(self) -> None:
        """The last message is about to be put."""


class _Queued(_Call):
    """Answers for a thread that waits."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._answers: Box[Any] = Box()

    def put(self, message: Any) -> None:
        self._answers.put(message)

    def take(self) -> "dict[str, Any]":
        return _present(self._reading.wait(self._answers))


class _Awaited(_Call):
    """Answers for a coroutine that waits."""

    def __init__(self, reading: Reading, loop: asyncio.AbstractEventLoop) -> None:
        self._reading = reading
        self._loop = loop
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self.over = reading.help_ends  # type: ignore[method-assign]
        reading.help_begins()

    def put(self, message: Any) -> None:
        self._loop.call_soon_threadsafe(self._answers.put_nowait, message)

    async def take(self) -> "dict[str, Any]":
        return _present(await self._answers.get())


def _present(message: "Optional[dict[str, Any]]") -> "dict[str, Any]":
    if message is None:
        raise TritonModelException("the server has gone")
    return message


def _response(message: "dict[str, Any]", session: Session) -> InferenceResponse:
    data = message["response"]
    if data is None:
        return InferenceResponse()
    return InferenceResponse.read(data, session)


async def _done(value: Any) -> Any:
    return value


class ResponseIterator:
    """The answers of a decoupled model as they come, for ``for`` and ``async for``."""

    def __init__(self, session: Session, number: int, call: _Queued) -> None:
        self._session = session
        self._number = number
        self._call = call
        self._over = False

    def __iter__(self) -> "ResponseIterator":
        return self

    def __next__(self) -> InferenceResponse:
        if self._over:
            raise StopIteration("Iteration is done for the responses.")
        message = self._call.take()
        self._over = message["final"]
        return _response(message, self._session)

    def __aiter__(self) -> "ResponseIterator":
        return self

    async def __anext__(self) -> InferenceResponse:
        if self._over:
            raise StopAsyncIteration("Iteration is done for the responses.")
        loop = asyncio.get_running_loop()
        message = await loop.run_in_executor(None, self._call.take)
        self._over = message["final"]
        return _response(message, self._session)

    def cancel(self) -> None:
        """Stop caring about the rest."""
        self._session.cancel_call(self._number)


def _give_up() -> None:
    """The server is gone; the main thread may be busy for ever, and nobody is left to end it."""
    time.sleep(_LAST_GRACE_S)
    os._exit(1)

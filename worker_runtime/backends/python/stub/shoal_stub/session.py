"""The process's conversation with the server: who waits for which message.

Messages are plain data here; what they say to models is made of them in ``objects``.
"""

import asyncio
import contextlib
import itertools
import os
import threading
import time
from typing import Any, Optional

from .channel import Channel
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
        self.sending = threading.Lock()  # whoever marks requests as answered has it
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
        # why here: the memory of answers that nobody takes is free when their message is gone.
        for tensor in (message.get("response") or {}).get("tensors", ()):
            tensor[3] = self.channel.window.look(tensor[3])
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

    def respond(self, number: int, data: "Optional[dict[str, Any]]", *, final: bool) -> None:
        """Answer a request apart from its batch; ``data`` None: nothing but the end."""
        self.channel.send({"op": "response", "n": number, "response": data, "final": final})

    def wait_for_room(self) -> None:
        """Let the server catch up: answers that it has not handed on yet take memory."""
        arena, pause_s = self.channel.arena, _FIRST_PAUSE_S
        while arena.lent_bytes > _MAX_LENT_BYTES or arena.lent_blocks > _MAX_LENT_BLOCKS:
            self.ask({"op": "room"})
            if arena.lent_bytes > _MAX_LENT_BYTES or arena.lent_blocks > _MAX_LENT_BLOCKS:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    # --- calling -----------------------------------------------------------------------------

    def ask(self, message: "dict[str, Any]") -> "dict[str, Any]":
        """Send a question and wait for its one answer. Raises TritonModelException."""
        call = Queued(self._reading)
        reply: dict[str, Any] = self._start(message, call).take()
        error = reply.get("error")
        if error is not None:
            raise TritonModelException(error[1])
        return reply

    def is_cancelled(self, number: int) -> bool:
        """Ask whether the client of a request has gone."""
        call = Queued(self._reading)
        return bool(self._start({"op": "cancelled", "n": number}, call).take()["gone"])

    def check_calls(self) -> None:
        """Raises TritonModelException where models may not call others."""
        if not self._can_call:
            raise TritonModelException("BLS is only supported during the 'execute' function.")

    def call(self, request: "dict[str, Any]", *, decoupled: bool) -> "tuple[int, Queued]":
        """Send a request to another model: the number of the call, and where its answers come."""
        call = Queued(self._reading)
        message: dict[str, Any] = {"op": "bls", "request": request, "decoupled": decoupled}
        self._start(message, call)
        return message["call"], call

    def call_async(self, request: "dict[str, Any]") -> "Awaited":
        """The same for a coroutine and one answer."""
        call = Awaited(self._reading, asyncio.get_running_loop())
        self._start({"op": "bls", "request": request, "decoupled": False}, call)
        return call

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


class Queued(_Call):
    """Answers for a thread that waits."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._answers: Box[Any] = Box()

    def put(self, message: Any) -> None:
        self._answers.put(message)

    def take(self) -> "dict[str, Any]":
        return _present(self._reading.wait(self._answers))


class Awaited(_Call):
    """Answers for a coroutine that waits."""

    def __init__(self, reading: Reading, loop: asyncio.AbstractEventLoop) -> None:
        self._reading = reading
        self._loop = loop
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self.over = reading.help_ends  # type: ignore[method-assign]
        reading.help_begins()

    def put(self, message: Any) -> None:
        with contextlib.suppress(RuntimeError):  # its loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(self._answers.put_nowait, message)

    async def take(self) -> "dict[str, Any]":
        return _present(await self._answers.get())


def _present(message: "Optional[dict[str, Any]]") -> "dict[str, Any]":
    if message is None:
        raise TritonModelException("the server has gone")
    return message


def _give_up() -> None:
    """The server is gone; the main thread may be busy for ever, and nobody is left to end it."""
    time.sleep(_LAST_GRACE_S)
    os._exit(1)

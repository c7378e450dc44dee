"""Long work of the event loop in slices: whatever else comes need not wait for its end.

Reading and writing JSON holds the interpreter: in a thread the loop would wait for it just the
same. What lets go of the interpreter, as zlib does, is for a thread: such a step gives its future.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from worker_runtime.errors import RuntimeFault

logger = logging.getLogger(__name__)
T = TypeVar("T")
# Rows (``Statistics.rows``) that are told of in one turn, at 3 to 8 µs each.
STATISTICS_AT_ONCE = 256
Steps = Generator[asyncio.Future[Any] | None, None, T]


class Later(Exception):
    """What was asked for takes more than a slice: ``steps`` are the work."""

    def __init__(self, steps: Steps[Any]) -> None:
        super().__init__()
        self.steps = steps


class _Work(NamedTuple):
    steps: Steps[Any]
    wanted: Callable[[], bool]
    done: Callable[[Any], None]
    failed: Callable[[Exception], None]


class Slices:
    """Does one slice in each turn of the loop, of one piece of work after the other."""

    def __init__(self) -> None:
        self._ready: deque[_Work] = deque()
        self._scheduled = False

    def run(
        self,
        steps: Steps[T],
        *,
        wanted: Callable[[], bool],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Call ``done`` with the result of ``steps``, or ``failed`` with what either raised.

        Neither is called, and nothing more is done, once it is not ``wanted`` any more.
        """
        self._go_on(_Work(steps, wanted, done, failed))

    def _go_on(self, work: _Work, awaited: asyncio.Future[Any] | None = None) -> None:
        if awaited is not None:
            awaited.add_done_callback(lambda _ended: self._go_on(work))
            return
        self._ready.append(work)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        work = self._ready.popleft()
        try:
            if work.wanted():
                self._step(work)
            else:
                work.steps.close()
        finally:  # also where nobody can be told of a failure
            if self._ready and not self._scheduled:
                self._scheduled = True
                asyncio.get_running_loop().call_soon(self._turn)

    def _step(self, work: _Work) -> None:
        try:
            try:
                awaited = next(work.steps)
            except StopIteration as end:
                work.done(end.value)
            else:
                self._go_on(work, awaited)
        except Exception as error:
            if not isinstance(error, RuntimeFault):
                logger.exception("work in slices failed")
            work.failed(error)


class InTurn:
    """Calls that keep their order though the work of some is done in slices.

    ``busy``: what comes now must ``wait``. ``idle`` is called when it need not any more.
    """

    def __init__(self, slices: Slices, idle: Callable[[], object] = lambda: None) -> None:
        self._slices = slices
        self._idle = idle
        self._behind: deque[Callable[[], None]] = deque()
        self._running = self.busy = False

    def wait(self, call: Callable[[], None]) -> None:
        self._behind.append(call)

    def run(
        self,
        steps: Steps[T],
        *,
        wanted: Callable[[], bool],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """As that of ``Slices``. What is not wanted any more is never followed by anything."""

        def finished(found: T) -> None:
            self._running = False  # first: ``done`` may run what comes next of it
            done(found)
            self._go_on()

        def broken(error: Exception) -> None:
            self._running = False
            try:
                failed(error)
            finally:
                self._go_on()

        self._running = self.busy = True
        self._slices.run(steps, wanted=wanted, done=finished, failed=broken)

    def _go_on(self) -> None:
        while self._behind and not self._running:
            self._behind.popleft()()
        if not self._running:
            self.busy = False
            self._idle()


def at_once(steps: Steps[T]) -> T:
    """The result, without a turn of the loop between the slices; none of them may need a thread."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


async def in_turns(steps: Steps[T]) -> T:
    """The same where somebody awaits it, with a turn of the loop between the slices."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)

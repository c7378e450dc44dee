"""A scheduler around a scheduler: what the response cache has is answered without it."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic_ns
from typing import Any

from worker_runtime.core.execution.answers import Answers, backend_fault
from worker_runtime.core.response_cache import (
    CachedAnswer,
    ResponseCache,
    copied,
    request_key,
    takes_long,
)
from worker_runtime.core.scheduling.base import Scheduler
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import Cancelled, RuntimeFault, Unavailable
from worker_runtime.observability.requests.watched import ended
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import Arrays, InferRequest, Response, Sink

logger = logging.getLogger(__name__)
_loads = itertools.count()
# why two: hashing and copying let go of the interpreter, and loads may keep the loop's own threads.
_POOL = ThreadPoolExecutor(2, "cache")


_TOO_LARGE = "it is larger than the cache"


class _Turn:
    """A place in the order of answers; ``answer`` is set once there is one."""

    answer: Callable[[], None] | None = None


class _Miss:
    """Stands in for the sink of a request that the cache did not know."""

    __slots__ = ("key", "lookup_ns", "owner", "sink", "turn")

    def __init__(
        self, owner: "CachedScheduler", sink: Sink, key: bytes, lookup_ns: int, turn: _Turn | None
    ) -> None:
        self.owner = owner
        self.sink = sink
        self.key = key
        self.lookup_ns = lookup_ns
        self.turn = turn

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        request.sink = self.sink
        self.owner.keep(self.key, request.plan.outputs, outputs, self.lookup_ns)
        self.owner.answer(self.turn, lambda: self.sink.deliver(request, outputs))

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if final:
            request.sink = self.sink
        if final and response is not None and response.error is None:
            self.owner.keep(self.key, response.names, response.arrays, self.lookup_ns)
        self.owner.answer(
            self.turn if final else None,
            lambda: self.sink.respond(request, response, final=final),
        )

    def fail(self, request: InferRequest, error: Exception) -> None:
        request.sink = self.sink
        self.owner.answer(self.turn, lambda: self.sink.fail(request, error))


class CachedScheduler(Scheduler):
    """Hits count as successes that nothing executed. ``ordered``: they wait for their turn.

    The cache knows this load of the model apart from others: a reload starts afresh, other
    instances of the same load do not.
    """

    def __init__(
        self, inner: Scheduler, cache: ResponseCache, name: str, version: int, *, ordered: bool
    ) -> None:
        self.statistics = inner.statistics
        self._inner = inner
        self._cache = cache
        self._load = (name, version, next(_loads))
        self._turns: deque[_Turn] | None = deque() if ordered else None
        self._closed = False
        self._answers = Answers(inner.statistics)
        # Requests that a thread hashes, by their identity, and their turns.
        self._hashing: dict[int, tuple[InferRequest, _Turn | None]] = {}
        self._all_hashed: asyncio.Event | None = None

    @property
    def pending(self) -> int:
        return self._inner.pending + len(self._hashing)

    @property
    def busy(self) -> bool:
        return self._inner.busy or bool(self._turns) or bool(self._hashing)

    def submit(self, request: InferRequest) -> None:
        """Answer from the cache, or else hand on. Raises what the scheduler inside raises, but for
        a large request, which a thread hashes first: then its sink is told."""
        if self._closed:
            raise Unavailable("the model is being unloaded")
        queued = monotonic_ns()
        turn = None
        if self._turns is not None:
            turn = _Turn()
            self._turns.append(turn)
        if takes_long(request.inputs):
            request.queued_ns = queued
            self._hashing[id(request)] = (request, turn)
            hashing = asyncio.get_running_loop().run_in_executor(
                _POOL, request_key, self._load, request
            )
            hashing.add_done_callback(partial(self._hashed, request, queued, turn))
            return
        try:
            self._look(request, request_key(self._load, request), queued, turn)
        except Exception:
            if self._turns is not None and turn is not None:
                self._turns.remove(turn)
            raise

    def _hashed(
        self,
        request: InferRequest,
        queued: int,
        turn: _Turn | None,
        hashing: "asyncio.Future[bytes]",
    ) -> None:
        if self._hashing.pop(id(request), None) is None:
            return  # it was cancelled meanwhile
        try:
            self._look(request, hashing.result(), queued, turn)
        except Exception as error:  # why so wide: a request must end, whatever happened
            if not isinstance(error, RuntimeFault):
                logger.exception("a request of model '%s' could not be looked up", self._load[0])
            fault = backend_fault(error)
            self.answer(turn, lambda: self._answers.send_error(request, fault))
        self._signal_hashed()

    def _signal_hashed(self) -> None:
        if self._all_hashed is not None and not self._hashing:
            self._all_hashed.set()

    def _look(self, request: InferRequest, key: bytes, queued: int, turn: _Turn | None) -> None:
        """Answer a request whose ``key`` is known, or hand it on."""
        looked = monotonic_ns()
        found = self._cache.lookup(key)
        now = monotonic_ns()
        if found is not None:
            request.queued_ns = queued
            self.statistics.cache_hit(
                duration_ns=now - request.arrived_ns,
                queue_ns=looked - queued,
                lookup_ns=now - looked,
            )
            self.answer(turn, lambda: _deliver(request, found))
            return
        # why: what is to be kept is wanted on the host, also where it goes to a device
        request.device_windows = None
        request.stay = ()
        sink = request.sink
        request.sink = _Miss(self, sink, key, now - looked, turn)
        try:
            self._inner.submit(request)
        except Exception:
            request.sink = sink
            raise

    def keep(self, key: bytes, names: tuple[str, ...], arrays: Arrays, lookup_ns: int) -> None:
        """Remember the answer to a request that was looked up in vain; a large one in a while."""
        before = monotonic_ns()
        try:
            long = takes_long(arrays)
            reason = "" if long or self._cache.insert(key, names, arrays) else _TOO_LARGE
        except Exception as error:  # why so wide: an answer must not get lost for being kept
            long, reason = False, str(error) or type(error).__name__
        if long:
            copying = asyncio.get_running_loop().run_in_executor(
                _POOL, copied, names, arrays, self._cache.byte_size
            )
            copying.add_done_callback(partial(self._copied, key, before, lookup_ns))
            return
        self._kept(key, reason, lookup_ns + monotonic_ns() - before)

    def _copied(
        self, key: bytes, since_ns: int, lookup_ns: int, copying: "asyncio.Future[Any]"
    ) -> None:
        try:
            answer = copying.result()
        except Exception as error:  # why so wide: as above
            reason = str(error) or type(error).__name__
        else:
            reason = "" if answer is not None else _TOO_LARGE
            if answer is not None:
                self._cache.put(key, answer, since_ns)
        self._kept(key, reason, lookup_ns + monotonic_ns() - since_ns)

    def _kept(self, key: bytes, reason: str, duration_ns: int) -> None:
        """Count a miss. ``reason``: why its answer was not kept, "" when it was."""
        if reason:
            logger.error(
                "Failed to insert key [%s] into response cache: an answer of model '%s': %s",
                key.hex(),
                self._load[0],
                reason,
            )
        self.statistics.cache_missed(duration_ns)

    def answer(self, turn: _Turn | None, send: Callable[[], None]) -> None:
        """Send now, or, where order matters, when everything before is sent."""
        if turn is None or self._turns is None:
            send()
            return
        turn.answer = send
        while self._turns and self._turns[0].answer is not None:
            ready = self._turns.popleft().answer
            if ready is None:
                return
            try:
                ready()
            except Exception:  # why: one broken connection must not cost the others their answers
                logger.exception("an answer of model '%s' could not be written", self._load[0])

    def cancel(self, request: InferRequest) -> bool:
        hashing = self._hashing.pop(id(request), None)
        if hashing is None:
            return self._inner.cancel(request)
        request.cancelled = True
        fault = Cancelled("the request was cancelled")
        self._drop(*hashing, fault, FailureReason.CANCELED)
        self._signal_hashed()
        return True

    def _drop(
        self,
        request: InferRequest,
        turn: _Turn | None,
        fault: RuntimeFault,
        reason: FailureReason,
    ) -> None:
        self.answer(turn, lambda: self._answers.fail(request, fault, reason))

    @property
    def goes_on(self) -> bool:
        return self._inner.goes_on

    @property
    def resizable(self) -> bool:
        return self._inner.resizable

    def resize(
        self,
        instances: Sequence[Any],
        places: Sequence[InstancePlace],
        gone: Callable[[Any], None],
    ) -> Callable[[], None] | None:
        return self._inner.resize(instances, places, gone)

    async def finish_sequences(self) -> None:
        await self._inner.finish_sequences()

    async def drain(self) -> None:
        self._closed = True
        if self._hashing:
            self._all_hashed = asyncio.Event()
            await self._all_hashed.wait()
        await self._inner.drain()

    def close(self) -> None:
        self._closed = True
        hashing, self._hashing = list(self._hashing.values()), {}
        for request, turn in hashing:
            fault = Unavailable("the model was unloaded")
            self._drop(request, turn, fault, FailureReason.OTHER)
        self._signal_hashed()
        self._inner.close()


def _deliver(request: InferRequest, found: CachedAnswer) -> None:
    if found.names == request.plan.outputs:
        request.sink.deliver(request, list(found.arrays))
    else:
        request.sink.respond(request, Response(found.names, list(found.arrays)), final=True)
    ended(request)

"""A scheduler around a scheduler: what the response cache has is answered without it."""

import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any

from worker_runtime.core.response_cache import CachedAnswer, ResponseCache, request_key
from worker_runtime.core.scheduling.base import Scheduler
from worker_runtime.errors import Unavailable
from worker_runtime.observability.requests.watched import ended
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import Arrays, InferRequest, Response, Sink

logger = logging.getLogger(__name__)
_loads = itertools.count()


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

    @property
    def pending(self) -> int:
        return self._inner.pending

    @property
    def busy(self) -> bool:
        return self._inner.busy or bool(self._turns)

    def submit(self, request: InferRequest) -> None:
        """Answer from the cache, or else hand on. Raises what the scheduler inside raises."""
        if self._closed:
            raise Unavailable("the model is being unloaded")
        queued = monotonic_ns()
        key = request_key(self._load, request)
        looked = monotonic_ns()
        found = self._cache.lookup(key)
        now = monotonic_ns()
        turn = None
        if self._turns is not None:
            turn = _Turn()
            self._turns.append(turn)
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
            if self._turns is not None and turn is not None:
                self._turns.remove(turn)
            raise

    def keep(self, key: bytes, names: tuple[str, ...], arrays: Arrays, lookup_ns: int) -> None:
        """Remember the answer to a request that was looked up in vain."""
        before = monotonic_ns()
        try:
            reason = "" if self._cache.insert(key, names, arrays) else "it is larger than the cache"
        except Exception as error:  # why so wide: an answer must not get lost for being kept
            reason = str(error) or type(error).__name__
        if reason:
            logger.error(
                "Failed to insert key [%s] into response cache: an answer of model '%s': %s",
                key.hex(),
                self._load[0],
                reason,
            )
        self.statistics.cache_missed(lookup_ns + monotonic_ns() - before)

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
        return self._inner.cancel(request)

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
        await self._inner.drain()

    def close(self) -> None:
        self._closed = True
        self._inner.close()


def _deliver(request: InferRequest, found: CachedAnswer) -> None:
    if found.names == request.plan.outputs:
        request.sink.deliver(request, list(found.arrays))
    else:
        request.sink.respond(request, Response(found.names, list(found.arrays)), final=True)
    ended(request)

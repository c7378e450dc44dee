"""preserve_ordering: answers leave in the order in which their requests left the queue.

It holds over several instances and for models that answer many times: what a later request has to
say is kept until every earlier one has had its final answer.
"""

import logging
from collections import deque
from collections.abc import Callable

from worker_runtime.types.request import Arrays, InferRequest, Response, Sink

logger = logging.getLogger(__name__)


class _Turn:
    """Stands in for the sink of a request until its last answer."""

    __slots__ = ("held", "order", "over", "sink")

    def __init__(self, order: "Ordering", sink: Sink) -> None:
        self.order = order
        self.sink = sink
        self.held: list[Callable[[], None]] = []
        self.over = False

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self._end(request, lambda: self.sink.deliver(request, outputs))

    def fail(self, request: InferRequest, error: Exception) -> None:
        self._end(request, lambda: self.sink.fail(request, error))

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if final:
            self._end(request, lambda: self.sink.respond(request, response, final=True))
        else:
            self.held.append(lambda: self.sink.respond(request, response, final=False))
            self.order.release()

    def _end(self, request: InferRequest, answer: Callable[[], None]) -> None:
        request.sink = self.sink
        self.held.append(answer)
        self.over = True
        self.order.release()


class Ordering:
    def __init__(self) -> None:
        self._turns: deque[_Turn] = deque()

    def __len__(self) -> int:
        return len(self._turns)

    def admit(self, request: InferRequest) -> None:
        """The request leaves the queue: its turn comes after those admitted before."""
        turn = _Turn(self, request.sink)
        request.sink = turn
        self._turns.append(turn)

    def release(self) -> None:
        """Say what can be said now."""
        while self._turns:
            front = self._turns[0]
            held, front.held = front.held, []
            if front.over:
                self._turns.popleft()
            for answer in held:
                try:
                    answer()
                except Exception:  # why: one broken connection must not cost the others theirs
                    logger.exception("an answer that waited for its turn could not be written")
            if not front.over:
                return

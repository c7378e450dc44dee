"""What keeping adds to the path of one request: what is set where it comes in, and what is asked
where it ends. Of nothing else, so that a busy machine hardly matters.

``cold``: other data and code have been in the processor's caches meanwhile, as in a server that
waits, decodes, computes and writes between any two requests.
"""

import asyncio
import random
import uuid
from collections.abc import Callable
from statistics import median
from time import monotonic_ns, perf_counter_ns
from types import SimpleNamespace
from typing import Any, Final

from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.statistics import Statistics
from worker_runtime.observability.requests.keeper import RequestKeeper
from worker_runtime.types.request import InferRequest, Plan

KINDS: Final[dict[str, Callable[[int], bytes]]] = {
    "ids of gateways": lambda _: str(uuid.uuid4()).encode(),
    "ids of callers": lambda number: b"order-2026-%08d" % number,
}
COUNT: Final = 3000
_CACHES: Final = 1 << 20  # bytes
_LATER_NS: Final = 10**9
_PLAN: Final = Plan(inputs=(), order=None, rows=1, batch_key=(), outputs=())
_MODEL: Any = SimpleNamespace(name="m", version=1, executes=True)


class _Nobody:
    def deliver(self, request: InferRequest, outputs: Any) -> None:
        """Nothing is written."""


def costs() -> dict[str, tuple[float, float]]:
    """Kind of ids -> ns a request with caches that are warm, and cold."""
    return {name: asyncio.run(_costs(made)) for name, made in KINDS.items()}


async def _costs(made: Callable[[int], bytes]) -> tuple[float, float]:
    keeper = RequestKeeper()
    keeper.look(random.getrandbits(32), 0)
    answers, ids = Answers(Statistics()), [made(number) for number in range(3 * COUNT)]
    sink: Any = _Nobody()

    def asked(arrived: int) -> InferRequest:
        return InferRequest(_PLAN, [], sink, arrived_ns=arrived, model=_MODEL)

    def took(request_id: bytes, *, keeps: bool, cold: bool) -> int:
        # why later: none of those that are timed is to be among the slowest
        request = asked(monotonic_ns() + _LATER_NS)
        if cold:
            one[:] = other
        begin = perf_counter_ns()
        if keeps:
            request.watched, request.x_request_id = keeper, request_id
        answers.deliver(request, [])
        return perf_counter_ns() - begin

    one, other = bytearray(_CACHES), bytes(_CACHES)
    for request_id in ids[:COUNT]:
        request = asked(monotonic_ns())
        request.watched, request.x_request_id = keeper, request_id
        answers.deliver(request, [])
    found: list[float] = []
    for cold, mine in ((False, ids[COUNT : 2 * COUNT]), (True, ids[2 * COUNT :])):
        times: dict[bool, list[int]] = {True: [], False: []}
        for number, request_id in enumerate(mine):
            for keeps in (number % 2 == 0, number % 2 == 1):
                times[keeps].append(took(request_id, keeps=keeps, cold=cold))
        found.append(median(times[True]) - median(times[False]))
    keeper.stop()
    warm, emptied = found
    return warm, emptied

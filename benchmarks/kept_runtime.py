"""A runtime that keeps single requests from SIGUSR1 on, and not from SIGUSR2 on.

    python -m benchmarks.kept_runtime --model-repository=...

Two processes differ by more than what keeping costs, so one is to do both, in turns. All else is as
in ``python -m worker_runtime``; somebody is to look once before the first signal, and before each
half minute is over.
"""

import signal
import sys
from types import FrameType
from typing import Any

from worker_runtime.__main__ import main
from worker_runtime.observability.requests.keeper import RequestKeeper

ON, OFF = signal.SIGUSR1, signal.SIGUSR2
_looked_into: set[RequestKeeper] = set()
_look = RequestKeeper.look


def _remembered(keeper: RequestKeeper, salt: int, after: int) -> list[dict[str, Any]]:
    _looked_into.add(keeper)
    return _look(keeper, salt, after)


def _switch(number: int, _: FrameType | None) -> None:
    for keeper in _looked_into:
        keeper.active = number == ON


if __name__ == "__main__":
    RequestKeeper.look = _remembered  # type: ignore[method-assign]
    for switched in (ON, OFF):
        signal.signal(switched, _switch)
    sys.exit(main(sys.argv[1:]))

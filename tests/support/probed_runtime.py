"""The runtime with a probe in its event loop: ``/probe`` on the metrics port says for how many
milliseconds of CPU the loop's thread worked at most between two looks, since it was asked last.

CPU and not time: others on the machine do not count, but looks are a millisecond and more apart.
"""

import asyncio
import sys
from time import thread_time_ns
from typing import Any

from worker_runtime.__main__ import main
from worker_runtime.observability.metrics.loop import LoopLag
from worker_runtime.protocols.http.server import MetricsApp

_LOOK_S = 0.001
_start, _handle = LoopLag.start, MetricsApp.handle


class Probe:
    def __init__(self) -> None:
        self._last = thread_time_ns()
        self._longest = 0

    def look(self) -> None:
        now = thread_time_ns()
        self._longest = max(self._longest, now - self._last)
        self._last = now
        asyncio.get_running_loop().call_later(_LOOK_S, self.look)

    def take(self) -> bytes:
        found, self._longest = self._longest, 0
        self._last = thread_time_ns()
        return f"{found / 1e6:.3f}".encode()


_probe = Probe()


def start(self: LoopLag) -> None:
    _start(self)
    _probe.look()


def handle(self: MetricsApp, connection: Any, head: Any, body: Any) -> None:
    if head.path == "/probe":
        connection.reply(200, _probe.take(), content_type=b"text/plain")
    else:
        _handle(self, connection, head, body)


if __name__ == "__main__":
    LoopLag.start, MetricsApp.handle = start, handle  # type: ignore[method-assign] # what it is for
    sys.exit(main(sys.argv[1:]))

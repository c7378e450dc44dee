"""Keeps a server busy for a while, in one thread, and notes how long each answer took.

With a concurrency each connection asks again as soon as it is answered (closed loop). With a rate a
request is sent when it is due, on any connection that is free; one that none is free for waits, and
its latency counts from when it was due: a server that stalls does not slow down who asks.
"""

import selectors
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from load_client.connections import OK, Broken, Connection, Opener

MOST_CONNECTIONS: Final = 256  # of a rate
LOOK_S: Final = 0.05  # at requests that take too long, and at whether it is to end
PAUSE_S: Final = 0.02  # before a connection that broke is made anew
SHORT_S: Final = 0.0002  # a client that spins takes a processor from the server
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


@dataclass(slots=True)
class Seen:
    """``latencies`` in seconds, of good answers. ``elapsed_s``: that they were counted in."""

    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    errors: Counter[str] = field(default_factory=Counter)
    said: str = ""  # by the first answer that was an error
    elapsed_s: float = 0.0
    busy: float = 0.0  # of a processor


class Driver:
    """``stop`` is looked at every twentieth of a second. Use from one thread; close it."""

    def __init__(
        self,
        connect: Opener,
        request: bytes,
        *,
        timeout_s: float,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connect = connect
        self._request = request
        self._timeout_s = timeout_s
        self._stop = stop
        self._selector = selectors.DefaultSelector()
        self._all: set[Connection] = set()
        self._under_way: set[Connection] = set()
        self._free: deque[Connection] = deque()
        self._open_again: deque[float] = deque()  # when, for each that is missing
        self._seen = Seen()
        self._stopped = False
        self._next_look = 0.0
        self._cpu = 0.0

    @property
    def stopped(self) -> bool:
        return self._stopped

    def close(self) -> None:
        for connection in list(self._all):
            self._discard(connection)
        self._selector.close()

    def concurrency(self, count: int, seconds: float) -> Seen:
        """``count`` requests always under way; what is, at the end, is waited for."""
        began = self._begin()
        self._shrink(count)
        self._open_again.extend([began] * (count - len(self._all)))
        until = began + seconds
        while not self._stopped:
            now = time.perf_counter()
            if now >= until:
                break
            self._reopen(now)
            while self._free:
                self._send(self._free.popleft(), time.perf_counter())
            self._wait(min(LOOK_S, until - now), again=until)
        return self._end(began)

    def rate(self, per_second: float, seconds: float) -> Seen:
        began = self._begin()
        sent, total = 0, max(1, round(per_second * seconds))
        while sent < total and not self._stopped:
            now = time.perf_counter()
            if now >= began + seconds + self._timeout_s:
                # why: what was due and found no connection in time was not answered either
                self._seen.errors["not sent in time"] += total - sent
                break
            while sent < total and (due := began + sent / per_second) <= now:
                if not self._free:
                    self._more(now)
                if not self._free:
                    break
                self._send(self._free.popleft(), due)
                sent += 1
            ahead = began + sent / per_second - time.perf_counter()
            self._wait(min(max(SHORT_S, ahead), LOOK_S) if self._free or ahead > 0 else LOOK_S)
        return self._end(began, at_least_s=sent / per_second)

    def _begin(self) -> float:
        self._seen = Seen()
        self._open_again.clear()
        self._cpu = time.process_time()
        return time.perf_counter()

    def _end(self, began: float, at_least_s: float = 0.0) -> Seen:
        """Wait for what is under way: a request that is cut off would look like a failure."""
        while self._under_way and not self._stopped:
            self._wait(LOOK_S)
        seen = self._seen
        # why at least: the last of a rate is sent an interval before the end
        seen.elapsed_s = max(time.perf_counter() - began, at_least_s)
        seen.busy = (time.process_time() - self._cpu) / seen.elapsed_s
        return seen

    def _wait(self, seconds: float, *, again: float = 0.0) -> None:
        """Take what comes within ``seconds``; who is answered before ``again`` asks anew."""
        clock, latencies, request = time.perf_counter, self._seen.latencies, self._request
        for key, mask in self._selector.select(seconds):
            connection: Connection = key.data
            try:
                if mask & WRITE:
                    connection.send_more()
                    self._watch(connection)
                answer = connection.receive() if mask & READ else None
                if answer is None:
                    continue
                now = clock()
                if connection not in self._under_way:
                    raise Broken("an answer that nobody asked for")
                if answer.status == OK:
                    latencies.append(now - connection.sent_at)
                else:
                    self._seen.errors[f"HTTP {answer.status}"] += 1
                    self._seen.said = self._seen.said or answer.said
                if answer.closes:
                    self._discard(connection)
                    self._open_again.append(now)
                elif now < again:
                    connection.sent_at = now
                    connection.send(request)
                    if connection.sending:
                        self._watch(connection)
                else:
                    self._under_way.discard(connection)
                    self._free.append(connection)
            except Broken as error:
                self._broke(connection, str(error))
        self._look()

    def _send(self, connection: Connection, due: float) -> None:
        connection.sent_at = due
        self._under_way.add(connection)
        try:
            connection.send(self._request)
            if connection.sending:
                self._watch(connection)
        except Broken as error:
            self._broke(connection, str(error))

    def _watch(self, connection: Connection) -> None:
        wanted = READ | WRITE if connection.sending else READ
        self._selector.modify(connection.socket, wanted, connection)

    def _look(self) -> None:
        now = time.perf_counter()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_S
        self._stopped = self._stopped or self._stop()
        for connection in list(self._under_way):
            if now - connection.sent_at > self._timeout_s:
                self._broke(connection, f"no answer within {self._timeout_s:g} s")

    def _broke(self, connection: Connection, kind: str) -> None:
        if connection in self._under_way:
            self._seen.errors[kind] += 1
        self._discard(connection)
        self._open_again.append(time.perf_counter() + PAUSE_S)

    def _discard(self, connection: Connection) -> None:
        self._all.discard(connection)
        self._under_way.discard(connection)
        if connection in self._free:
            self._free.remove(connection)
        self._selector.unregister(connection.socket)
        connection.close()

    def _shrink(self, count: int) -> None:
        while len(self._all) > count and self._free:
            self._discard(self._free[0])

    def _reopen(self, now: float) -> None:
        for _ in range(len(self._open_again)):
            if self._open_again[0] > now:
                return
            self._open_again.popleft()
            self._open(now)

    def _more(self, now: float) -> None:
        """One more connection, for a request that is due."""
        if self._open_again and self._open_again[-1] > now:
            return  # nothing answers there: it is not asked all the time
        self._open_again.clear()
        if len(self._all) < MOST_CONNECTIONS:
            self._open(now)

    def _open(self, now: float) -> None:
        try:
            connection = self._connect()
        except OSError as error:
            self._seen.errors[f"cannot connect: {error.strerror or type(error).__name__}"] += 1
            self._open_again.append(now + PAUSE_S)
            return
        self._all.add(connection)
        self._selector.register(connection.socket, READ, connection)
        self._free.append(connection)

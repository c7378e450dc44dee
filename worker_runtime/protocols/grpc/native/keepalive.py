"""Pings: ours to find dead clients, theirs in bounds, and the age of a connection.

The rules and their names are those of gRPC's channel arguments (the ``--grpc-keepalive-*`` flags).
"""

import asyncio
from time import monotonic_ns
from typing import Protocol

from worker_runtime.protocols.grpc.native.frames import ConnectionFault, ErrorCode
from worker_runtime.types.listening import Keepalive

_FOREVER_MS = 2**31 - 1
_WITHOUT_CALLS_NS = 2 * 3600 * 10**9


class Peer(Protocol):
    @property
    def idle(self) -> bool: ...

    def ping(self) -> None: ...

    def leave(self, reason: str = "") -> None: ...

    def close(self) -> None: ...


class Pings:
    """``strikes`` is set to 0 by whoever sends something: pings in answer to data are welcome."""

    def __init__(self, rules: Keepalive, peer: Peer) -> None:
        self._rules = rules
        self._peer = peer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: asyncio.TimerHandle | None = None
        self._age: asyncio.TimerHandle | None = None
        self._last_ping_ns = 0
        self.strikes = 0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        if self._rules.time_ms < _FOREVER_MS:
            self._next = loop.call_later(self._rules.time_ms / 1000, self._ask)
        if self._rules.max_connection_age_ms:
            self._age = loop.call_later(self._rules.max_connection_age_ms / 1000, self._grown_old)

    def stop(self) -> None:
        for timer in (self._next, self._age):
            if timer is not None:
                timer.cancel()
        self._loop = self._next = self._age = None

    def pinged(self, *, calls: bool) -> None:
        """The client sent a ping. Raises ConnectionFault when it does so too often."""
        rules, now = self._rules, monotonic_ns()
        interval = rules.min_recv_ping_interval_without_data_ms * 1_000_000
        if not calls and not rules.permit_without_calls:
            interval = max(interval, _WITHOUT_CALLS_NS)
        early = self._last_ping_ns and now < self._last_ping_ns + interval
        self._last_ping_ns = now
        if early and rules.max_ping_strikes:
            self.strikes += 1
            if self.strikes > rules.max_ping_strikes:
                raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too_many_pings")

    def answered(self) -> None:
        """The client answered our ping."""
        if self._next is not None and self._loop is not None:
            self._next.cancel()
            self._next = self._loop.call_later(self._rules.time_ms / 1000, self._ask)

    def _ask(self) -> None:
        if self._loop is None:
            return
        if self._peer.idle and not self._rules.permit_without_calls:
            self._next = self._loop.call_later(self._rules.time_ms / 1000, self._ask)
            return
        self._peer.ping()
        self._next = self._loop.call_later(self._rules.timeout_ms / 1000, self._peer.close)

    def _grown_old(self) -> None:
        self._peer.leave("max_age")
        if self._loop is not None and self._rules.max_connection_age_grace_ms:
            self._age = self._loop.call_later(
                self._rules.max_connection_age_grace_ms / 1000, self._peer.close
            )

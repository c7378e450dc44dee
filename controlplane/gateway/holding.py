"""Requests of deployments without a replica: held until one takes requests, or as long as allowed.

One event loop runs all of it; whom it asks is given. What it is part of: docs/gateway.md.
"""

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controlplane.gateway.admin import EnvoyUnreachable
from controlplane.gateway.control_client import ControlPlaneUnavailable
from controlplane.gateway.names import deployment_of, endpoint_of_cluster
from wire.samples import GatewaySample
from wire.waking import HoldLimits, WakeReply

ASK_AGAIN_S: Final = 2.0  # says that requests still wait
ASK_ANEW_S: Final = 0.5  # after no answer
LOOK_S: Final = 0.01  # between two looks at Envoy, at first
LOOK_SHARE: Final = 4  # times a look's own length, where that is more: it serves others, too
SLOWER: Final = 0.02  # of the time that it has looked already: what takes long is no hurry
SLOWEST_S: Final = 0.2
UNKNOWN: Final = HoldLimits(timeout_s=60, most=1000)  # no snapshot has told of it yet
MOST_NEWS: Final = 100_000  # that wait to be reported
Name = tuple[str, str]  # endpoint, deployment


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request does not go on, for its caller; worth another try after ``retry_after_s``."""

    text: str
    retry_after_s: int


@dataclass(frozen=True, slots=True)
class Wake:
    """One deployment that requests waited for, until one of its replicas took them."""

    endpoint: str
    deployment: str
    seconds: float


@dataclass(slots=True)
class _Sleeper:
    """A deployment that requests wait for, by cluster: each protocol has its own."""

    since: float
    waiting: dict[str, set[asyncio.Future[Refusal | None]]] = field(default_factory=dict)
    reason: str = ""  # what stands in the way, as far as is known
    asking: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        return sum(len(one) for one in self.waiting.values())


class Holding:
    """``wake`` tells the control plane of a deployment; ``serving`` names the clusters with a host
    that Envoy sends requests to. ``most`` wait at a time, of all deployments together."""

    def __init__(
        self,
        wake: Callable[[str, str], Awaitable[WakeReply]],
        serving: Callable[[], Awaitable[frozenset[str]]],
        *,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wake, self._serving, self._most, self._clock = wake, serving, most, clock
        self.limits: Mapping[str, HoldLimits] = {}  # by cluster; replaced whole, by any thread
        self._wakes: deque[Wake] = deque(maxlen=MOST_NEWS)
        self._began: deque[Name] = deque(maxlen=MOST_NEWS)  # one for each request
        self._sleepers: dict[Name, _Sleeper] = {}
        self._looking: asyncio.Task[None] | None = None

    def held(self) -> dict[Name, int]:
        """Requests that wait now; for any thread."""
        return {name: one.held for name, one in list(self._sleepers.items())}

    def told(
        self, samples: Iterable[GatewaySample], at: float, interval_s: float
    ) -> tuple[GatewaySample, ...]:
        """``samples``, and what has been held since the last call; for any one thread."""
        held = Counter(self._began.popleft() for _ in range(len(self._began)))
        wakes: dict[Name, list[float]] = {}
        for _ in range(len(self._wakes)):
            one = self._wakes.popleft()
            wakes.setdefault((one.endpoint, one.deployment), []).append(one.seconds)
        found = {(one.endpoint, one.deployment): one for one in samples}
        for name in held.keys() | wakes.keys():
            known = found.get(name) or GatewaySample(*name, at, interval_s, requests=0)
            seconds = tuple(wakes.get(name, ()))
            found[name] = replace(known, held=held[name], wakes_s=seconds)
        return tuple(found.values())

    async def hold(self, cluster: str) -> Refusal | None:
        """None once a replica takes requests. Cancelled, it leaves nothing behind."""
        name = endpoint_of_cluster(cluster), deployment_of(cluster)
        limits = self.limits.get(cluster, UNKNOWN)
        if refusal := self._full(name, limits):
            return refusal
        sleeper = self._sleepers.get(name)
        if sleeper is None:
            sleeper = self._sleepers[name] = _Sleeper(self._clock())
            sleeper.asking = asyncio.create_task(self._ask(name, sleeper))
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        answer: asyncio.Future[Refusal | None] = asyncio.get_running_loop().create_future()
        waiting = sleeper.waiting.setdefault(cluster, set())
        waiting.add(answer)
        self._began.append(name)
        try:
            async with asyncio.timeout(limits.timeout_s):
                return await answer
        except TimeoutError:
            why = sleeper.reason or "it is still being started."
            text = f"No replica of this deployment was ready within {limits.timeout_s} s: {why}"
            return Refusal(text, 5)
        finally:
            waiting.discard(answer)
            self._leave(name, sleeper)

    def _full(self, name: Name, limits: HoldLimits) -> Refusal | None:
        sleeper = self._sleepers.get(name)
        if sleeper is not None and sleeper.held >= limits.most:
            text = f"{limits.most} at most may wait for a replica of this deployment."
            return Refusal(f"{text} Try again later.", 1)
        if sum(one.held for one in self._sleepers.values()) >= self._most:
            text = f"{self._most} at most may wait for replicas at this gateway."
            return Refusal(f"{text} Try again later.", 1)
        return None

    def _leave(self, name: Name, sleeper: _Sleeper) -> None:
        if sleeper.held or self._sleepers.get(name) is not sleeper:
            return
        del self._sleepers[name]
        if sleeper.asking is not None:
            sleeper.asking.cancel()

    async def _ask(self, name: Name, sleeper: _Sleeper) -> None:
        """Once for all that wait, however many they are; and again, for as long as they do."""
        while True:
            pause_s = ASK_AGAIN_S
            try:
                reply = await self._wake(*name)
            except ControlPlaneUnavailable:
                sleeper.reason = "the control plane, which starts one, does not answer."
                pause_s = ASK_ANEW_S
            else:
                sleeper.reason = reply.reason
                pause_s = ASK_ANEW_S if reply.reason else ASK_AGAIN_S
                if not reply.wakes:
                    _end(sleeper, Refusal(f"No replica of this deployment runs: {reply.reason}", 5))
            await asyncio.sleep(pause_s)

    async def _look(self) -> None:
        """Lets go whoever's replica is there. Envoy's own view counts: it chooses right after."""
        first = self._clock()
        while self._sleepers:
            began = self._clock()
            # why suppressed: without its Envoy nobody is held for long
            with contextlib.suppress(EnvoyUnreachable):
                self._release(await self._serving())
            now = self._clock()
            slower = min(SLOWER * (now - first), SLOWEST_S)
            await asyncio.sleep(max(LOOK_S, slower, LOOK_SHARE * (now - began)))
        self._looking = None

    def _release(self, serving: frozenset[str]) -> None:
        for (endpoint, deployment), sleeper in self._sleepers.items():
            awake = sleeper.waiting.keys() & serving
            if any(sleeper.waiting[cluster] for cluster in awake):
                seconds = self._clock() - sleeper.since
                self._wakes.append(Wake(endpoint, deployment, seconds))
            for cluster in awake:
                _answer(sleeper.waiting[cluster], None)


def _end(sleeper: _Sleeper, refusal: Refusal) -> None:
    for waiting in sleeper.waiting.values():
        _answer(waiting, refusal)


def _answer(waiting: set[asyncio.Future[Refusal | None]], what: Refusal | None) -> None:
    for one in waiting:
        if not one.done():
            one.set_result(what)

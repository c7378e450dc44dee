"""A deployment that is simulated: what its replicas carry of what comes, and who starts when."""

import math
from dataclasses import dataclass, field

import numpy as np

from controlplane.autoscaling import Load

MOST_BUSY = 0.999
SETTLED = 0.97  # busier queues take longer to become what they are on average


@dataclass(frozen=True, slots=True)
class Machine:
    """``service_s``: of one request. ``slots``: requests that a replica computes at a time.
    ``start_s``: until a replica that was asked for answers. ``pause_s``: of a caller in a loop,
    from an answer until its next request is there."""

    service_s: float
    slots: int
    start_s: float
    pause_s: float = 0.0

    @property
    def rate(self) -> float:
        """Requests/s that one replica answers at most."""
        return self.slots / self.service_s


@dataclass(slots=True)
class Plant:
    machine: Machine
    rng: np.random.Generator
    count: int = 1
    ready: int = 1
    waiting: float = 0.0  # requests, beyond those that wait by chance
    starts: list[tuple[float, int]] = field(default_factory=list)  # when, how many are ready then
    _seen: float = 0.0  # requests that waited when it was looked at last
    _chance: float = 0.0

    @property
    def changing(self) -> bool:
        """An operation is under way: nothing else is begun meanwhile."""
        return bool(self.starts)

    def scale(self, count: int, now: float) -> None:
        self.count = count
        if count < self.ready:
            self.ready = count
        elif count > self.ready:
            self.starts.append((now + self.machine.start_s, count))

    def step(self, rate: float, now: float, step_s: float) -> Load:
        """What a look at its end measures, when ``rate`` requests/s have come."""
        most = self._most(now, step_s)
        come = self.waiting + rate * step_s
        served = min(come, most)
        self.waiting = come - served
        waiting = self.waiting + self._by_chance(served / most, step_s)
        queued = self.waiting
        if served < most:
            queued = served / step_s * self._queue_s(served / most)
        return self._look(served, waiting, queued, now, step_s)

    def loop(self, callers: float, now: float, step_s: float) -> Load:
        """The same of ``callers`` who send a request whenever their last one was answered."""
        most = self._most(now, step_s)
        alone = callers / (self.machine.service_s + self.machine.pause_s) * step_s
        served = min(alone, most)
        pausing = served / step_s * self.machine.pause_s
        queued = max(callers - pausing - served / step_s * self.machine.service_s, 0.0)
        if callers:
            pausing = self.rng.binomial(int(callers), pausing / callers)
        self.waiting = max(callers - pausing - served / step_s * self.machine.service_s, 0.0)
        return self._look(served, self.waiting, queued, now, step_s)

    def _most(self, now: float, step_s: float) -> float:
        """Requests that those who are ready can answer in a step."""
        for at, count in self.starts:
            if at <= now:
                self.ready = count
        self.starts = [start for start in self.starts if start[0] > now]
        return self.ready * self.machine.rate * step_s

    def _look(
        self, served: float, waiting: float, queued: float, now: float, step_s: float
    ) -> Load:
        busy = served / (self.ready * self.machine.rate * step_s)
        waited_s = self.waiting / (self.ready * self.machine.rate) + self._queue_s(busy)
        before, self._seen = self._seen, waiting
        return Load(
            at=now,
            serving=self.ready,
            sampled=self.ready,
            in_flight=served / step_s * self.machine.service_s + waiting,
            waiting=waiting,
            queued=queued,
            growth=(waiting - before) / step_s,
            requests_per_second=served / step_s,
            queue_ms=waited_s * 1000,
            cpu=busy * self.ready,
            gpu=busy * self.ready,
            busy=busy,
        )

    def _by_chance(self, busy: float, step_s: float) -> float:
        """How many wait at one moment of M/M/c, where as much is answered as comes: nobody, or a
        geometric number, which stays for as long as such a queue takes to change."""
        if busy >= 1:
            return 0.0  # those who wait are counted
        busy = min(busy, SETTLED)
        slots = self.ready * self.machine.slots
        rest_s = self.machine.service_s / (slots * (1 - math.sqrt(busy)) ** 2)
        if self.rng.random() > math.exp(-step_s / rest_s):
            self._chance = float(self.rng.random())
        full = slots * (1 - busy) * self._queue_s(busy) / self.machine.service_s
        if not 0 < self._chance < full:
            return 0.0
        return float(math.floor(math.log(self._chance / full) / math.log(busy)))

    def _queue_s(self, busy: float) -> float:
        """Mean wait of M/M/c, by Sakasegawa's approximation."""
        slots = self.ready * self.machine.slots
        busy = min(busy, MOST_BUSY)
        exponent = math.sqrt(2 * (slots + 1)) - 1
        return float(self.machine.service_s * busy**exponent / (slots * (1 - busy)))

"""A deployment that is simulated: what its replicas carry of what comes, and who starts when."""

import math
from dataclasses import dataclass, field

from controlplane.autoscaling import Load


@dataclass(frozen=True, slots=True)
class Machine:
    """``service_s``: of one request. ``slots``: requests that a replica computes at a time.
    ``start_s``: until a replica that was asked for answers."""

    service_s: float
    slots: int
    start_s: float

    @property
    def rate(self) -> float:
        """Requests/s that one replica answers at most."""
        return self.slots / self.service_s


@dataclass(slots=True)
class Plant:
    machine: Machine
    count: int = 1
    ready: int = 1
    waiting: float = 0.0  # requests
    starts: list[tuple[float, int]] = field(default_factory=list)  # when, how many are ready then

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
        for at, count in self.starts:
            if at <= now:
                self.ready = count
        self.starts = [start for start in self.starts if start[0] > now]
        most = self.ready * self.machine.rate * step_s
        before, come = self.waiting, self.waiting + rate * step_s
        served = min(come, most)
        self.waiting = come - served
        busy = served / most
        waited_s = self.waiting / (self.ready * self.machine.rate) + self._queue_s(busy)
        return Load(
            at=now,
            serving=self.ready,
            sampled=self.ready,
            in_flight=served / step_s * self.machine.service_s + self.waiting,
            waiting=self.waiting,
            growth=(self.waiting - before) / step_s,
            requests_per_second=served / step_s,
            queue_ms=waited_s * 1000,
            cpu=busy * self.ready,
            busy=busy,
        )

    def _queue_s(self, busy: float) -> float:
        """Mean wait of M/M/c, by Sakasegawa's approximation."""
        slots = self.ready * self.machine.slots
        if busy >= 0.999:
            busy = 0.999
        exponent = math.sqrt(2 * (slots + 1)) - 1
        return float(self.machine.service_s * busy**exponent / (slots * (1 - busy)))

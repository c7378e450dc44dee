"""When a gateway's agent does what, and for how long it leaves a failing control plane alone."""

import random
import time
from dataclasses import dataclass, field

MAX_BACK_OFF_S = 8.0
TICK_S = 0.25  # between looks at all duties while the control plane is left alone
LONGEST_REST_S = 1.0  # between them, else
LEAST_REST_S = 0.01
WINDOW_S = 0.5  # in which being woken makes us poll three times at most


@dataclass(slots=True)
class BackOff:
    """When to call the control plane next: at once after success, ever later after failures."""

    delay_s: float = 0.0
    not_before: float = 0.0

    def failed(self, now: float) -> bool:
        """True for the first failure in a row."""
        first = self.delay_s == 0.0
        self.delay_s = min(MAX_BACK_OFF_S, max(0.5, self.delay_s * 2))
        self.not_before = now + self.delay_s * random.uniform(0.75, 1.25)  # noqa: S311
        return first

    def succeeded(self) -> bool:
        """True for the first success after failures."""
        recovered = self.delay_s > 0.0
        self.delay_s = self.not_before = 0.0
        return recovered


@dataclass(slots=True)
class Timers:
    """Monotonic seconds at which each duty is due."""

    poll: float = 0.0
    retry: float = 0.0  # of a snapshot that was refused as a whole
    polled: tuple[float, float, float] = (float("-inf"),) * 3  # when it was done, the last times
    report: float = 0.0
    report_anew: float = 0.0  # also when it says what the last one said
    sample: float = 0.0
    sample_anew: float = 0.0  # also when there is none
    renewal: float = 0.0  # of what Envoy shows to clients, as far as it is made here
    served: float = 0.0  # of the same, as the control plane signs it
    certificate: float = 0.0  # of what we show to the control plane
    sampled_at: float = field(default_factory=time.monotonic)
    sample_interval_s: float = 2.0

    def has_polled(self, now: float, again_s: float) -> None:
        self.polled, self.poll = (*self.polled[1:], now), now + again_s

    def woken(self) -> None:
        """Poll soon: three times at most in ``WINDOW_S``, however often we are woken.

        why not one by one in even steps: what requests wait for often follows right behind what
        they do not, a replica that is ready behind one that is placed, or behind a poll by time,
        and its route behind that.
        """
        self.poll = min(self.poll, self.polled[0] + WINDOW_S)
        # why these: what is new may be a number alone, which we confirm without anything to apply,
        # or that somebody watches
        self.report = self.report_anew = self.sample = self.sample_anew = self.poll

    def rest_s(self, now: float) -> float:
        """Until one of those that are done all the time is due, and no longer than others wait."""
        due = min(self.poll, self.report, self.sample)
        return min(max(due - now, LEAST_REST_S), LONGEST_REST_S)

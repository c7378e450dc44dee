"""A caller who sends all it can: what was let in, what was refused and how, what was lost."""

import json
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx

from tests.chaos.callers import Callers
from tests.chaos.load import BODY

CALLERS = 6
SMALL = json.dumps(BODY).encode()
LARGE = SMALL + b" " * 400_000  # the same, over the limit


@dataclass
class Flood(Callers):
    """Calls without a pause until the block ends; every ``large_every``-th has a large body.

    ``seen`` are statuses, and names of errors where none came, with "large" before those of large
    bodies. A refusal counts as one only with what docs/gateway.md promises: its status,
    ``{"error": …}`` as JSON, and for 429 `Retry-After`. Anything else that is not 200 is lost.
    """

    at_once = CALLERS

    large_every: int = 0
    losses: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return len(self.losses)

    def explain(self) -> str:
        with self._counting:
            return "\n".join([str(dict(self.seen)), *self.losses[:5]])

    def until(self, what: str, count: int, within_s: float = 60.0) -> None:
        """Wait for so many more answers of one sort."""
        self._wait_for(lambda: self.seen[what], count, what, within_s)

    def during(self, seconds: float) -> Counter[str]:
        """What came in so many seconds."""
        with self._counting:
            before = self.seen.copy()
        self._stop.wait(seconds)
        with self._counting:
            return self.seen - before

    def _call(self, number: int) -> None:
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
        }
        sent = number
        with httpx.Client(headers=headers, trust_env=False, timeout=30) as client:
            while not self._stop.is_set():
                sent += 1
                is_large = bool(self.large_every) and sent % self.large_every == 0
                try:
                    answer = client.post(self.url, content=LARGE if is_large else SMALL)
                except httpx.HTTPError as error:
                    self._count(type(error).__name__, str(error), is_large, lost=True)
                    continue
                lost = answer.status_code != 200 and not _refused_as_promised(answer)
                said = f"{dict(answer.headers)} {answer.text[:200]}"
                self._count(str(answer.status_code), said, is_large, lost=lost)

    def _count(self, what: str, said: str, is_large: bool, *, lost: bool) -> None:
        with self._counting:
            self.seen[f"large {what}" if is_large else what] += 1
            if lost:
                self.losses.append(f"{time.time():.3f} {what} {said}")


def _refused_as_promised(answer: httpx.Response) -> bool:
    if answer.status_code not in (413, 429):
        return False
    if answer.headers.get("content-type") != "application/json":
        return False
    if set(answer.json()) != {"error"}:
        return False
    return answer.status_code == 413 or answer.headers.get("retry-after") == "1"

"""Constant load on an endpoint: how many requests were sent, how many were lost, and when."""

import ssl
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx

from tests.chaos.callers import Callers

CALLERS = 4
PATIENCE_S = 15
PAUSE_S = 0.01  # leaves the machine to what is being tested
BODY = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}


@dataclass
class Load(Callers):
    """Calls from several connections until the block ends; every answer but 200 is a loss.

    ``seen`` are statuses, and names of errors where none came.
    """

    at_once = CALLERS

    losses: list[tuple[float, str]] = field(default_factory=list)  # monotonic seconds, what came
    access_log: Path | None = None
    deployments: Counter[str] = field(default_factory=Counter)  # who answered
    longest_s: float = 0.0
    words: list[str] = field(default_factory=list)  # of the losses, verbatim
    pause_s: float = PAUSE_S
    trust: ssl.SSLContext | bool = True  # whose certificates callers believe

    def __enter__(self) -> Self:
        super().__enter__()
        self.more(20)
        return self

    @property
    def lost(self) -> int:
        with self._counting:
            return self.seen.total() - self.seen["200"]

    @property
    def burst_s(self) -> float:
        """From the first loss to the last."""
        with self._counting:
            times = [at for at, _ in self.losses]
        return max(times) - min(times) if times else 0.0

    def explain(self) -> str:
        """Why requests were lost: what callers read, and what the gateway noted."""
        with self._counting:
            lines = [str(dict(self.seen)), *self.words[:5]]
        if self.access_log is not None:
            noted = self.access_log.read_text(errors="replace").splitlines()
            lines += [line for line in noted if "\t200\t" not in line][-10:]
        return "\n".join(lines)

    def more(self, count: int, within_s: float = 60.0) -> None:
        """Wait until ``count`` more requests have come back."""
        self._wait_for(lambda: self.sent, count, "answers", within_s)

    def _call(self, number: int) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(
            headers=headers, trust_env=False, timeout=PATIENCE_S, verify=self.trust
        ) as client:
            while not self._ended(number):
                began = time.monotonic()
                answer = None
                try:
                    answer = self._send(client)
                    what = str(answer.status_code)
                except httpx.HTTPError as error:
                    what = type(error).__name__
                self._count(what, answer, began)

    def _ended(self, number: int) -> bool:
        """When it is time for the next call of this caller, or the block ends."""
        return self._stop.wait(self.pause_s)

    def _send(self, client: httpx.Client) -> httpx.Response:
        return client.post(self.url, json=BODY)

    def _count(self, what: str, answer: httpx.Response | None, began: float) -> None:
        now = time.monotonic()
        with self._counting:
            self.longest_s = max(self.longest_s, now - began)
            self.seen[what] += 1
            if answer is not None:
                self.deployments[answer.headers.get("x-shoal-deployment", "-")] += 1
            if what != "200":
                self.losses.append((now, what))
                said = answer.text if answer is not None else ""
                self.words.append(f"{time.time():.3f} {what} {said}")

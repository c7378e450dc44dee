"""Constant load on an endpoint: how many requests were sent, how many were lost, and when."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

CALLERS = 4
PAUSE_S = 0.01  # leaves the machine to what is being tested
BODY = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}


@dataclass
class Load:
    """Calls from several connections until the block ends; every answer but 200 is a loss."""

    url: str
    key: str
    seen: Counter[str] = field(default_factory=Counter)
    losses: list[tuple[float, str]] = field(default_factory=list)  # monotonic seconds, what came
    access_log: Path | None = None
    deployments: Counter[str] = field(default_factory=Counter)  # who answered
    longest_s: float = 0.0
    words: list[str] = field(default_factory=list)  # of the losses, verbatim
    pause_s: float = PAUSE_S

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call, daemon=True) for _ in range(CALLERS)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        self.more(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def sent(self) -> int:
        return sum(self.seen.values())

    @property
    def lost(self) -> int:
        return self.sent - self.seen["200"]

    @property
    def burst_s(self) -> float:
        """From the first loss to the last."""
        times = [at for at, _ in self.losses]
        return max(times) - min(times) if times else 0.0

    def explain(self) -> str:
        """Why requests were lost: what callers read, and what the gateway noted."""
        lines = [str(dict(self.seen)), *self.words[:5]]
        if self.access_log is not None:
            noted = self.access_log.read_text(errors="replace").splitlines()
            lines += [line for line in noted if "\t200\t" not in line][-10:]
        return "\n".join(lines)

    def more(self, count: int, within_s: float = 60.0) -> None:
        """Wait until ``count`` more requests have come back."""
        wanted = self.sent + count
        deadline = time.monotonic() + within_s
        while self.sent < wanted:
            assert time.monotonic() < deadline, f"only {self.sent} answers: {self.seen}"
            self._stop.wait(0.02)

    def _call(self) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(headers=headers, trust_env=False, timeout=15) as client:
            while not self._stop.wait(self.pause_s):
                began = time.monotonic()
                try:
                    answer = client.post(self.url, json=BODY)
                    what = str(answer.status_code)
                    self.deployments[answer.headers.get("x-shoal-deployment", "-")] += 1
                except httpx.HTTPError as error:
                    what = type(error).__name__
                now = time.monotonic()
                self.longest_s = max(self.longest_s, now - began)
                self.seen[what] += 1
                if what != "200":
                    self.losses.append((now, what))
                    said = answer.text if what.isdecimal() else ""
                    self.words.append(f"{time.time():.3f} {what} {said}")

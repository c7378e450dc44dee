"""How long replicas wait for a processor: what a busy machine costs them, and nobody else knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from node_agent.usage import PROC, Usage

_WAITED: Final = 1  # of /proc/<pid>/task/<tid>/schedstat: nanoseconds ready to run, and not running


class ProcessorWaits:
    """Sums that only rise, over all threads that replicas have had while somebody looked.

    The kernel forgets what a thread has waited once it ends.
    """

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._threads: dict[tuple[int, int], int] = {}  # process and thread -> nanoseconds
        self._total_s: dict[int, float] = {}

    def add(self, taken: Mapping[int, Usage]) -> dict[int, float]:
        """Of each replica's first process: seconds so far; ``taken`` names its processes."""
        before, self._threads = self._threads, {}
        known, self._total_s = self._total_s, {}
        for pid, usage in taken.items():
            waited = 0
            for process in usage.processes:
                for thread, now in self._waits(process):
                    self._threads[process, thread] = now
                    waited += max(0, now - before.get((process, thread), 0))
            self._total_s[pid] = known.get(pid, 0.0) + waited / 1e9
        return self._total_s

    def _waits(self, process: int) -> list[tuple[int, int]]:
        found = []
        try:
            for thread in (self._proc / str(process) / "task").iterdir():
                words = (thread / "schedstat").read_bytes().split()
                found.append((int(thread.name), int(words[_WAITED])))
        except OSError:  # it has ended meanwhile, or this kernel does not count that
            return found
        return found

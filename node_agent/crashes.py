"""When a runtime that ends by itself is not started again."""

import shutil
import time
from collections import deque

from node_agent import trial
from node_agent.failure import RUNTIME_NEEDS_BYTES, ReplicaFailed, disk_full
from node_agent.launch import RuntimeCrashed
from node_agent.record import Record

CRASH_LIMIT = 5
CRASH_WINDOW_S = 600.0


class Crashes:
    """Of one replica."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._at: deque[float] = deque(maxlen=CRASH_LIMIT)

    def add(self, crash: RuntimeCrashed) -> None:
        """Raises ReplicaFailed where it was one too many."""
        self._at.append(time.monotonic())
        if self._record.replica.trial:
            raise self._record.with_log(trial.crashed(crash))
        if sum(time.monotonic() - at < CRASH_WINDOW_S for at in self._at) < CRASH_LIMIT:
            return
        folder = self._record.folder.path
        free = shutil.disk_usage(folder).free
        if free < RUNTIME_NEEDS_BYTES:
            error = disk_full(RUNTIME_NEEDS_BYTES, free, where=str(folder), limit="disk")
        else:
            error = ReplicaFailed(
                "CrashLoop",
                f"The runtime ended {CRASH_LIMIT} times within "
                f"{CRASH_WINDOW_S / 60:.0f} minutes; the last time it {crash}.",
                hints=("The log's last lines usually name the cause.",),
            )
        raise self._record.with_log(error)

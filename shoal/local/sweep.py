"""The last broom: ends replica processes that the node agent did not live to stop."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

KILL_WAIT_S = 5.0
POLL_S = 0.05


def replicas(node_folder: Path) -> int:
    """Kill every replica whose journal names a live process; the number of processes killed.

    A process counts only when its kernel start time and the boot are those in the journal: its id
    may have been given to a stranger since.
    """
    found = [
        pid for journal in node_folder.glob("replicas/*/state.json") if (pid := _owner(journal))
    ]
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_WAIT_S
    while any(_start_ticks(pid) is not None for pid in found) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return len(found)


def _owner(journal: Path) -> int | None:
    try:
        data = json.loads(journal.read_text())
        pid, ticks, boot = int(data["pid"]), int(data["start_ticks"]), str(data["boot_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    same = pid > 0 and boot == _boot_id() and _start_ticks(pid) == ticks
    return pid if same else None


def _start_ticks(pid: int) -> int | None:
    """Clock ticks from boot to the start of `pid`; None when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""

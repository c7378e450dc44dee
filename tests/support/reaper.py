"""What a test run started ends with it, however it ends: also after ``kill -9`` of pytest.

A process beside pytest waits for its end. Then it kills all that carry this run's mark in their
environment, which processes hand on to those that they start, whoever their parent is by then.
"""

import os
import select
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

MARK = "PYTEST_RUN_MARK"
PASSED_ON = "SHOAL_NODE_PASS_VARIABLES"
SUPERVISORS = Path(__file__).parents[2] / "shoal" / "local" / "die_with_parent.py"
LOOK_EVERY_S = 1.0
KILL_FOR_S = 10.0
POLL_S = 0.05
QUIET_LOOKS = 3  # a process that was just being started may be missed by one look


def start() -> "subprocess.Popen[bytes] | None":
    """Mark this process and all that it will start; keep what is returned until the end.

    A run within a run, as those of xdist, is a part of the first: None, nothing is to be kept.
    """
    if MARK in os.environ or sys.platform != "linux":
        return None
    mark = uuid.uuid4().hex
    command = [sys.executable, "-I", "-S", __file__, mark, str(os.getpid())]
    # why a session of its own: Ctrl-C and the end of a terminal are for pytest, not for this
    keeper = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ[MARK] = mark
    # why: replicas get what is listed, and these are to end with the run, too
    os.environ[PASSED_ON] = MARK
    return keeper


def guard() -> "subprocess.Popen[bytes] | None":
    """``start`` for a program that is no run of pytest: SIGTERM and SIGINT end it as an exception
    does, so that what it started is stopped in its own way, and its folders are removed."""
    # why SIGINT: a shell that starts a program with `&` leaves it ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _exit)
    return start()


def _exit(number: int, _: object) -> None:
    raise SystemExit(128 + number)  # as a shell tells it


def clean_environment() -> dict[str, str]:
    """This run's environment without the settings of an installation around it, with its mark."""
    ours = ("SHOAL_", "DJANGO_")
    return {k: v for k, v in os.environ.items() if k == PASSED_ON or not k.startswith(ours)}


def die_with_parent(*argv: str) -> list[str]:
    """A command for a program that overwrites its environment with its title, as Redis does."""
    return [sys.executable, "-I", "-S", str(SUPERVISORS), str(os.getpid()), *argv]


def marked(mark: str) -> list[int]:
    """The processes that live and carry the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            # why suppress: it may have ended since, or belong to somebody else
            with suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def main(mark: str, holder: int) -> None:
    while os.getppid() == holder:
        # why both: the pipe tells at once, but a child that forked may hold its other end open
        if select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
            break
    quiet, give_up = 0, time.monotonic() + KILL_FOR_S
    while quiet < QUIET_LOOKS and time.monotonic() < give_up:
        pids = marked(mark)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        quiet = 0 if pids else quiet + 1
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

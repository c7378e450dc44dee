"""Running a program that touches untrusted bytes: limits, a deadline, no secrets around it."""

import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings

STDERR_TAIL_BYTES = 4000
ANSWER_MAX_BYTES = 64 * 2**20
TICK_S = 2.0


@dataclass(frozen=True)
class Limits:
    """What the kernel lets the program have; ``None`` leaves a limit as it is."""

    cpu_s: int
    file_bytes: int | None = None
    address_bytes: int | None = None


@dataclass(frozen=True)
class Finished:
    """``returncode`` is negative for a signal, as in ``subprocess``."""

    returncode: int
    stdout: str
    stderr_tail: str


class TimedOut(Exception):
    def __init__(self, timeout_s: float, stderr_tail: str) -> None:
        super().__init__(f"not finished after {timeout_s:g} s")
        self.stderr_tail = stderr_tail


def environment() -> dict[str, str]:
    """As little as Python needs: nothing that this process knows leaks to a model's reader."""
    return {
        "PATH": os.defpath,
        "PYTHONPATH": str(settings.BASE_DIR),
        "PYTHONUNBUFFERED": "1",
        # why: under a file size limit the interpreter would leave cut .pyc files for everybody.
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        # why: ONNX Runtime and BLAS would start a thread per core just to read a graph.
        "OMP_NUM_THREADS": "1",
    }


def limit(pid: int, limits: Limits) -> None:
    """Set from outside, at once after the start: a hook before exec is not safe beside threads."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_AS: limits.address_bytes,
    }
    for which, value in wanted.items():
        if value is None:
            continue
        _, hard = resource.prlimit(pid, which)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, which, (ceiling, ceiling))


def run_limited(
    command: list[str],
    *,
    timeout_s: float,
    limits: Limits,
    tick: Callable[[], None] = lambda: None,
) -> Finished:
    """Run to the end, calling ``tick`` every two seconds. Raises TimedOut; leaves no process."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=environment(),
            cwd=Path(settings.BASE_DIR),
            start_new_session=True,
        )
        try:
            limit(process.pid, limits)
            waited_s = 0.0
            while True:
                try:
                    process.wait(timeout=TICK_S)
                    break
                except subprocess.TimeoutExpired:
                    waited_s += TICK_S
                    tick()
                    if waited_s >= timeout_s:
                        raise TimedOut(timeout_s, _tail(stderr)) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        stdout.seek(0)
        text = stdout.read(ANSWER_MAX_BYTES).decode(errors="replace")
        return Finished(process.returncode, text, _tail(stderr))


def _tail(file: IO[bytes]) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - STDERR_TAIL_BYTES))
    return file.read().decode(errors="replace").strip()

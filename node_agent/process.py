"""Processes that outlive the agent: who they are, whether they still are, and how they end."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

POLL_S = 0.1
LOOKS = 3  # in a row that find none: who forks and ends without pause may slip through one
LEFT_S = 10.0  # for the kernel to take down what was killed: a GPU's memory takes a while


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process id may be given to a stranger; with its start time and the boot it is unique."""

    pid: int
    start_ticks: int  # clock ticks from boot to its start
    boot_id: str


def spawn(
    argv: list[str],
    *,
    folder: Path,
    log: Path,
    environment: Mapping[str, str],
    given: bytes = b"",
    descriptors: tuple[int, ...] = (),
) -> ProcessIdentity:
    """Start `argv` in a session of its own, output appended to `log`; it survives this process.

    It reads `given` as its standard input, and gets `descriptors` of ours under the same numbers.
    """
    with log.open("ab") as output, os.fdopen(os.memfd_create("given"), "w+b") as text:
        text.write(given)
        text.seek(0)
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(environment),
            stdin=text,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=descriptors,
            start_new_session=True,
        )
    # why: we wait through `exit_status` below, which also knows adopted processes.
    process.returncode = 0
    return identify(process.pid)


def identify(pid: int) -> ProcessIdentity:
    """The identity of a process just started (a zombie counts). Raises ProcessLookupError."""
    fields = _stat(pid)
    if fields is None:
        raise ProcessLookupError(pid)
    return ProcessIdentity(pid=pid, start_ticks=int(fields[19]), boot_id=boot_id())


def alive(process: ProcessIdentity) -> bool:
    """Whether exactly this process runs; a zombie does not."""
    fields = _stat(process.pid)
    if fields is None or int(fields[19]) != process.start_ticks or boot_id() != process.boot_id:
        return False
    return fields[0] not in "ZX"


async def exited(process: ProcessIdentity) -> int | None:
    """Wait for its end, and end what it leaves behind: the exit status, negative for a signal, None
    where it cannot be known."""
    await _ended(process)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEFT_S):
            await _until(lambda: not any(kill_session(process) for _ in range(LOOKS)))
    return _reap(process.pid)


async def end(process: ProcessIdentity, *, grace_s: float) -> bool:
    """SIGTERM, then SIGKILL for its whole session after `grace_s`; False when it came to that."""
    if alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await _ended(process)
    gently = not alive(process)
    kill_session(process)
    await exited(process)
    return gently


def kill_session(process: ProcessIdentity) -> int:
    """SIGKILL for all that runs in the session that it leads, or led; how many there were.

    By session, since none of them can leave that (the sandbox's filter), and its number is given to
    nobody as long as one is in it. Newest first, and each with its group: of who forks and ends
    without pause the process that was seen is gone, or a zombie, and its child is in that group.
    """
    leader = _stat(process.pid)
    if boot_id() != process.boot_id or (leader and int(leader[19]) != process.start_ticks):
        return 0  # a stranger has its number: nothing of it is left
    members = 0
    for pid in sorted(psutil.pids(), reverse=True):
        fields = _stat(pid)
        if fields and int(fields[3]) == process.pid and fields[0] != "X":
            try:
                os.killpg(int(fields[2]), signal.SIGKILL)
            except PermissionError:
                continue  # without a sandbox it may have become another user's
            except ProcessLookupError:
                pass  # it has ended: counted all the same, for it may have left another
            members += fields[0] != "Z"
    return members


async def _ended(process: ProcessIdentity) -> None:
    """Wait for its end alone. The kernel tells: dozens of replicas would be looked at for nothing
    all the time."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # it has ended, or a kernel before 5.3
        await _until(lambda: not alive(process))
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        # why only now: whatever has the number from here on, the descriptor is of what had it
        if alive(process):
            loop.add_reader(descriptor, ended.set)
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _until(holds: Callable[[], bool]) -> None:
    while True:
        if holds():
            return
        await asyncio.sleep(POLL_S)


@cache
def boot_id() -> str:
    """Changes at each boot of the machine; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat after the name: state first, start time at 19."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _reap(pid: int) -> int | None:
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None  # adopted: its status went to another parent
    return os.waitstatus_to_exitcode(status) if ended else None


def describe_exit(status: int | None) -> str:
    """ "was killed by SIGKILL", "exited with status 1", or "ended"."""
    if status is None:
        return "ended"
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"exited with status {status}"

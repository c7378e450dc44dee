"""What processes take, from one look at /proc, however many of them are asked for."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from wire.messages import ObservedReplica

PROC: Final = Path("/proc")
# Of /proc/<pid>/stat, after the name: parent, processor time of user and system, resident pages.
_PARENT, _USER, _SYSTEM, _RESIDENT = 1, 11, 12, 21
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_STAT_BYTES: Final = 4096  # of a line of some hundred


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a process and its descendants; zeros where there is none any more."""

    memory_bytes: int = 0  # resident; pages that several of them share count for each
    cpu_seconds: float = 0.0
    processes: tuple[int, ...] = ()

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.memory_bytes + other.memory_bytes,
            self.cpu_seconds + other.cpu_seconds,
            self.processes + other.processes,
        )


def usages(pids: Collection[int], proc: Path = PROC) -> dict[int, Usage]:
    """Process id -> what it takes. Blocks for some microseconds per process of the machine."""
    own: dict[int, Usage] = {}
    children: dict[int, list[int]] = {}
    for pid, parent, usage in _processes(proc) if pids else ():
        own[pid] = usage
        children.setdefault(parent, []).append(pid)
    return {pid: sum((own[each] for each in _family(pid, own, children)), Usage()) for pid in pids}


def with_memory(
    observed: Sequence[ObservedReplica],
    on_gpus: Mapping[int, int],
    proc: Path = PROC,
    *,
    known: Mapping[int, Usage] | None = None,
) -> tuple[ObservedReplica, ...]:
    """The same, with what their processes take of the machine's memory and of ``on_gpus``, which
    is process id -> bytes. ``known``: of a look not long ago, which does if all are in it."""
    pids = {seen.pid for seen in observed if seen.pid}
    taken = known if known is not None and pids <= known.keys() else usages(pids, proc)
    return tuple(
        replace(
            seen,
            memory_bytes=taken[seen.pid].memory_bytes,
            gpu_memory_bytes=sum(on_gpus.get(pid, 0) for pid in taken[seen.pid].processes),
        )
        if seen.pid
        else seen
        for seen in observed
    )


def _family(pid: int, own: dict[int, Usage], children: dict[int, list[int]]) -> Iterator[int]:
    # why a set: between two reads a number may have gone to another process, and made a ring
    seen, waiting = set(), [pid]
    while waiting:
        each = waiting.pop()
        if each in own and each not in seen:
            seen.add(each)
            yield each
            waiting += children.get(each, ())


def _processes(proc: Path) -> Iterator[tuple[int, int, Usage]]:
    for name in os.listdir(proc):  # noqa: PTH208 # hundreds of them each time
        if not name.isdecimal():
            continue
        try:
            fields = _read(f"{proc}/{name}/stat").rpartition(b")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        ticks = int(fields[_USER]) + int(fields[_SYSTEM])
        memory_bytes = int(fields[_RESIDENT]) * _PAGE_BYTES
        pid = int(name)
        yield pid, int(fields[_PARENT]), Usage(memory_bytes, ticks / _TICKS_PER_S, (pid,))


def _read(path: str) -> bytes:
    """All of one short file of the kernel's, in three calls; a Python file makes seven."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _STAT_BYTES)
    finally:
        os.close(descriptor)

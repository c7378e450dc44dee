"""Limits on memory, processors and processes by cgroup v2, where somebody has given us one."""

import logging
import os
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

PERIOD_US = 100_000
DELEGATED = ("user.delegate", "trusted.delegate")  # how systemd marks what is ours to divide


@dataclass(frozen=True, slots=True)
class Shares:
    """Of each replica; 0: no limit."""

    memory_bytes: int = 0
    cpus: float = 0.0
    processes: int = 0

    def values(self) -> dict[str, str]:
        """File of the kernel's -> what to write."""
        found: dict[str, str] = {}
        if self.memory_bytes:
            # the whole replica ends, not one of its processes that the others wait for
            found |= {"memory.max": str(self.memory_bytes), "memory.oom.group": "1"}
        if self.cpus:
            found["cpu.max"] = f"{int(self.cpus * PERIOD_US)} {PERIOD_US}"
        if self.processes:
            found["pids.max"] = str(self.processes)
        return found


class Cgroup:
    """A folder of the cgroup file system that is ours to divide."""

    def __init__(self, folder: Path, shares: Shares) -> None:
        self._folder = folder
        self._values = shares.values()

    def take(self) -> tuple[str, ...]:
        """Move this process into a part of its own, as the kernel wants it before it divides; the
        controllers that replicas are limited by. Raises OSError."""
        wanted = {name.partition(".")[0] for name in self._values}
        there = (self._folder / "cgroup.controllers").read_text().split()
        ours = self._folder / "agent"
        ours.mkdir(exist_ok=True)
        (ours / "cgroup.procs").write_text(str(os.getpid()))
        given = tuple(sorted(wanted & set(there)))
        (self._folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in given))
        self._values = {
            name: value for name, value in self._values.items() if name.partition(".")[0] in given
        }
        return given

    def part(self, replica_id: str) -> Path:
        """The folder that a replica's launcher enters, its limits set. Raises OSError."""
        folder = self._folder / f"replica-{replica_id}"
        folder.mkdir(exist_ok=True)
        for name, value in self._values.items():
            (folder / name).write_text(value)
        return folder

    def drop(self, replica_id: str) -> None:
        """Remove the part of a replica that has ended."""
        try:
            (self._folder / f"replica-{replica_id}").rmdir()
        except FileNotFoundError:
            return
        except OSError as error:  # a process of it is still on its way out
            logger.info("The cgroup of %s stays: %s", replica_id, error)


def delegated(mounts: Path = Path("/proc/self/mounts")) -> Path | None:
    """The folder that systemd gave this process to divide (`Delegate=yes`); None without one."""
    roots = [line.split()[1] for line in mounts.read_text().splitlines() if " cgroup2 " in line]
    lines = (mounts.parent / "cgroup").read_text().splitlines()
    path = next((line[3:] for line in lines if line.startswith("0::")), "")
    if not roots or not path:
        return None
    folder = Path(roots[0]) / path.lstrip("/")
    try:
        marks = [os.getxattr(folder, name) for name in DELEGATED if name in os.listxattr(folder)]
    except OSError:
        return None
    return folder if b"1" in marks else None

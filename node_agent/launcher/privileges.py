"""Who a process is, what it may without asking, and how much it may take."""

import ctypes
import os
import resource
import struct
from pathlib import Path
from typing import Final

from node_agent.launcher import kernel
from node_agent.launcher.plan import Limits

OOM_ADJUSTMENT: Final = 500  # memory that runs out ends a replica before the agent, or a database
_CAPABILITIES_VERSION: Final = 0x20080522


def enter_cgroup(folder: str) -> None:
    """Raises OSError."""
    (Path(folder) / "cgroup.procs").write_text("0")


def end_first_without_memory() -> None:
    """Be the kernel's first choice when memory runs out; that anybody may ask for."""
    adjusted = Path("/proc/self/oom_score_adj")
    if int(adjusted.read_text()) < OOM_ADJUSTMENT:
        adjusted.write_text(str(OOM_ADJUSTMENT))


def limit(limits: Limits) -> None:
    """For this process and its children, none of which can raise them again. Raises OSError."""
    _at_most(resource.RLIMIT_CORE, 0)
    for kind, most in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ):
        if most:
            _at_most(kind, most)


def _at_most(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def become(user: int, groups: tuple[int, ...]) -> None:
    """Another user, whose group has the same number, for good. Raises OSError."""
    os.setgroups(groups)
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def bound() -> None:
    """No program that root runs from here on gets capabilities. Raises OSError."""
    if os.geteuid() == 0:
        last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
        for capability in range(last + 1):
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability, what="bounding set")


def renounce() -> None:
    """Give up all capabilities. Raises OSError."""
    kernel.no_new_privileges()
    head = ctypes.create_string_buffer(struct.pack("=II", _CAPABILITIES_VERSION, 0))
    none = ctypes.create_string_buffer(struct.pack("=6I", 0, 0, 0, 0, 0, 0))
    kernel.checked(kernel.LIBC.capset(head, none), "capabilities")

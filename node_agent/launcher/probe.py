"""What this machine's kernel, and the container around us, let a launcher do: by trying it."""

import ctypes
import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from node_agent.launcher import kernel, landlock, seccomp
from node_agent.launcher.plan import Plan

_TRACE_ME = 0
_NO_DEVICE = 100  # of CUDA: it started, and CUDA_VISIBLE_DEVICES leaves none


def offers(wanted: Plan, confine: Callable[[Plan], None]) -> dict[str, int]:
    """Each of the plan's steps with 1 where it can be done, 0 where not; "landlock": its ABI.

    "user" also says that the user reaches all that the plan gives to read. "cuda": whether CUDA
    starts with all of them; where it does without Landlock alone, there is no Landlock.
    """
    bare = dataclasses.replace(
        wanted, landlock=False, seccomp=False, namespaces=False, user=0, network="all"
    )

    def holds(check: Callable[[], bool] = lambda: True, **steps: object) -> int:
        return _in_child(confine, dataclasses.replace(bare, **steps), check)  # type: ignore[arg-type] # fields by name

    abi = landlock.abi()
    namespaces = holds(namespaces=True)
    found = {
        "landlock": abi if abi and holds(_cannot_read_root, landlock=True) else 0,
        "seccomp": int(seccomp.supported() and holds(_cannot_trace, seccomp=True, network="none")),
        "namespaces": namespaces,
        "loopback": holds(namespaces=True, network="loopback") if namespaces else 0,
        "user": (
            holds(
                lambda: _reaches(wanted),
                namespaces=bool(namespaces),
                user=wanted.user,
            )
            if wanted.user
            else 0
        ),
        "cuda": 0,
    }
    if wanted.cuda:
        found["cuda"] = _starts(confine, wanted, found)
        if found["landlock"] and not found["cuda"]:
            without = {**found, "landlock": 0}
            if _starts(confine, wanted, without):
                found = {**without, "cuda": 1}
    return found


def _starts(confine: Callable[[Plan], None], wanted: Plan, found: Mapping[str, int]) -> int:
    """Whether CUDA's driver starts with what was found."""
    user = wanted.user if found["user"] else 0
    plan = dataclasses.replace(
        wanted,
        landlock=bool(found["landlock"]),
        seccomp=bool(found["seccomp"]),
        namespaces=bool(found["namespaces"]),
        user=user,
        network="none",
        cuda=bool(user or os.geteuid()),
    )
    return _in_child(confine, plan, _cuda_starts)


def _cuda_starts() -> bool:
    return ctypes.CDLL("libcuda.so.1").cuInit(0) in (0, _NO_DEVICE)


def _reaches(plan: Plan) -> bool:
    """Whether we can use all that the plan gives us."""
    (Path(plan.folder) / "written").write_text("")
    return all(os.access(path, os.R_OK) for path in plan.read if not _kept(path))


def _kept(path: str) -> bool:
    """Whether root keeps it from everybody, as some machines do with files below /etc, or it is
    not there: whose path ends well without it."""
    return path.startswith("/etc/") or not Path(path).exists()


def _in_child(confine: Callable[[Plan], None], plan: Plan, check: Callable[[], bool]) -> int:
    child = os.fork()
    if child == 0:
        try:
            confine(plan)
            os._exit(0 if check() else 1)
        except BaseException:  # the child's end is the answer
            os._exit(1)
    return int(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)


def _cannot_read_root() -> bool:
    try:
        next(Path("/").iterdir())
    except PermissionError:
        return True
    return False


def _cannot_trace() -> bool:
    return int(kernel.LIBC.ptrace(_TRACE_ME, 0, None, None)) == -1

"""Checks before anything is started: clear words now instead of a stack trace later."""

import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
MINIMUM_FREE_BYTES = 512 * 2**20


class PreflightFailed(RuntimeError):
    """What stands in the way, one line each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class WantedPort:
    variable: str
    port: int  # 0: any free one


def check(home: Path, wanted: list[WantedPort]) -> dict[str, int]:
    """Variable -> the port to use. Raises PreflightFailed with every problem at once."""
    problems: list[str] = []
    free = shutil.disk_usage(_existing(home)).free
    if free < MINIMUM_FREE_BYTES:
        problems.append(
            f"Only {free // 2**20} MiB are free at {home}, "
            f"{MINIMUM_FREE_BYTES // 2**20} MiB are needed. "
            "Free some space, or set SHOAL_HOME to a folder on another disk."
        )
    chosen: dict[str, int] = {}
    for item in wanted:
        if item.port and item.port in chosen.values():
            problems.append(
                f"{item.variable}={item.port} is used twice. Choose another port, or 0."
            )
            continue
        port = _bindable(item.port, avoid=set(chosen.values()))
        if port is None:
            problems.append(
                f"Port {item.port} is in use. "
                f"Set {item.variable} to another port, or 0 for a free one."
            )
        else:
            chosen[item.variable] = port
    if problems:
        raise PreflightFailed(problems)
    return chosen


def _bindable(port: int, *, avoid: set[int]) -> int | None:
    """`port`, or a free one for 0; None when it is taken."""
    while True:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
                # why: with SO_REUSEADDR Linux lets two sockets bind, but not two listen.
                probe.listen(1)
            except OSError:
                return None
            found = int(probe.getsockname()[1])
        if found not in avoid:
            return found


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path

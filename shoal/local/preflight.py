"""Checks before anything is started: clear words now instead of a stack trace later."""

import contextlib
import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

from shoal.local import ports

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


def check(home: Path, wanted: list[WantedPort], held: contextlib.ExitStack) -> dict[str, int]:
    """Variable -> the port to use. Raises PreflightFailed with every problem at once.

    The ports stay reserved until ``held`` is closed: what is started later finds them free.
    """
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
        try:
            chosen[item.variable] = ports.reserve(item.port, held)
        except OSError as error:
            problems.append(_why_not(item, error))
    if problems:
        raise PreflightFailed(problems)
    return chosen


def _why_not(item: WantedPort, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {item.port} is in use. Set {item.variable} to another port, or 0 for a free one."
        )
    return f"Port {item.port} ({item.variable}) cannot be used: {error.strerror}."


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path

"""The command line that the machine shows of a process (`ps`, /proc), after a fork.

By it an agent finds runtimes that no journal knows. Written by hand, as setproctitle (the library
for this) joins the arguments by spaces, and overwrites the environment that /proc shows.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# An argument that does nothing: a process shows no more than it was started with.
ROOM: Final = " " * 8192
_ARGUMENTS: Final = slice(45, 47)  # of /proc/<pid>/stat after the name: where they begin and end


def show(command: Sequence[str]) -> None:
    """From now on; of a command that is longer than our own the first arguments."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = map(int, fields[_ARGUMENTS])
    ctypes.memset(begin, 0, end - begin)
    text = fitting(command, end - begin)
    ctypes.memmove(begin, text, len(text))


def fitting(command: Sequence[str], room: int) -> bytes:
    """As many whole arguments, each with its NUL, as there is room for."""
    text = b""
    for argument in command:
        longer = text + argument.encode() + b"\0"
        if len(longer) > room:
            break
        text = longer
    return text

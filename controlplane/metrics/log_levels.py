"""Pure: how bad a line of a log is, told by how the runtime, Python and most libraries write it."""

import re
from typing import Final

WARN: Final = "warn"
ERROR: Final = "error"
LEVELS: Final = (WARN, ERROR)
_ERROR: Final = re.compile(r"^\[?(?:E|F)\b|^[EF]\d{4} |\b(?:ERROR|CRITICAL|FATAL)\b")
_WARN: Final = re.compile(r"^\[?W\b|^W\d{4} |\bWARN(?:ING)?\b")


def level_of(text: str) -> str:
    """``warn``, ``error``, or nothing for all that is neither."""
    if _ERROR.search(text):
        return ERROR
    return WARN if _WARN.search(text) else ""


def is_level(text: str, least: str) -> bool:
    """Whether it is at least as bad; everything is where ``least`` is empty."""
    return not least or level_of(text) in LEVELS[LEVELS.index(least) :]

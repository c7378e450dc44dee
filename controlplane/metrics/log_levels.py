"""Pure: how bad a line of a log is, told by how the runtime, Python and most libraries write it."""

import re
from typing import Final

WARN: Final = "warn"
ERROR: Final = "error"
LEVELS: Final = (WARN, ERROR)
# what our runtime writes, and glog, c10 and ONNX Runtime: E1121, [W1121, [E:onnxruntime:, ISO time
_LETTER: Final = re.compile(r"^[\d:TZ. -]*\[?([DEFIVW])(?:\d{4}|:onnxruntime:\S*)? ")
_JSON: Final = re.compile(r'^\{"time": "[^"]*", "level": "(\w+)"')
_ERROR: Final = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL)\b|^Traceback \(most recent|^[\w.]*(?:Error|Exception)(?::|$)"
)
_WARN: Final = re.compile(r"\bWARN(?:ING)?\b|\b\w*Warning: ")
_OF_LETTER: Final = {"E": ERROR, "F": ERROR, "W": WARN}


def level_of(text: str) -> str:
    """``warn``, ``error``, or nothing for all that is neither.

    A line that tells its own level is believed, whatever its text says.
    """
    if letter := _LETTER.match(text):
        return _OF_LETTER.get(letter[1], "")
    if told := _JSON.match(text):
        text = told[1]
    if _ERROR.search(text):
        return ERROR
    return WARN if _WARN.search(text) else ""


def is_level(text: str, least: str) -> bool:
    """Whether it is at least as bad; everything is where ``least`` is empty."""
    return not least or level_of(text) in LEVELS[LEVELS.index(least) :]

"""config.pbtxt must be UTF-8, as the runtime reads it: what is not is told, with the same text as
UTF-8 for a remedy."""

import codecs
from typing import Final

from worker_runtime.errors import Problem
from worker_runtime.inspection.edits import fixed

NUL: Final = "\0"
SHOWN: Final = "\ufffd"  # in the place of what no text can hold
# why UTF-32 first: its mark begins like UTF-16's
MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32", "utf-32"),
    (codecs.BOM_UTF32_BE, "UTF-32", "utf-32"),
    (codecs.BOM_UTF16_LE, "UTF-16", "utf-16"),
    (codecs.BOM_UTF16_BE, "UTF-16", "utf-16"),
    (codecs.BOM_UTF8, "UTF-8 with a byte order mark", "utf-8-sig"),
)
HINT: Final = "save config.pbtxt as UTF-8 without a byte order mark"


def config_read(data: bytes) -> tuple[str, Problem | None]:
    """The text of a configuration as it can be shown, and what is wrong with its bytes."""
    for mark, name, codec in MARKS:
        if data.startswith(mark):
            text = data.decode(codec, "replace").replace(NUL, SHOWN)
            return _shown(data), _problem(f"config.pbtxt is {name}", 1, text)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        # why cp1252: what editors on Windows write that do not write UTF-8
        mended = data.decode("cp1252", "replace").replace(NUL, SHOWN)
        said = f"config.pbtxt is not UTF-8: byte {data[error.start]:#04x} in line {line}"
        return _shown(data), _problem(said, line, mended)
    if NUL in text:
        line = text.count("\n", 0, text.index(NUL)) + 1
        said = f"config.pbtxt has the character U+0000 in line {line}"
        return _shown(data), _problem(said, line, text.replace(NUL, ""))
    return text, None


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace(NUL, SHOWN)


def _problem(what: str, line: int, mended: str) -> Problem:
    problem = Problem(
        "ConfigEncoding", f"{what}, expected plain UTF-8", line=line, column=1, hints=(HINT,)
    )
    return fixed(problem, "Write it as UTF-8", mended)

"""What a folder's .amlignore leaves out of it, or else its .gitignore: git's patterns."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

FILES: Final = (".amlignore", ".gitignore")
# Whether a path below the folder, told with slashes, is left out; the second is of folders.
Ignored = Callable[[str, bool], bool]


def ignored_by(folder: Path) -> tuple[str, Ignored]:
    """The file that says it ("" for none), and what it says. A folder that is left out is left out
    with all that is in it."""
    for name in FILES:
        if (folder / name).is_file():
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
            rules = [rule for line in lines if (rule := _rule(line)) is not None]
            return name, partial(_last, rules)
    return "", lambda _path, _is_folder: False


_Rule = tuple["re.Pattern[str]", bool, bool]  # what it is about, of folders only, takes back


def _last(rules: list[_Rule], path: str, is_folder: bool) -> bool:
    for pattern, folders_only, takes_back in reversed(rules):
        if (is_folder or not folders_only) and pattern.fullmatch(path):
            return not takes_back
    return False


def _rule(line: str) -> _Rule | None:
    text = _without_last_blanks(line)
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    text = text[1:] if takes_back else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    # one with a slash before its end is about a path, others are about a name anywhere
    anchored = "/" in text
    expression = _expression(text.removeprefix("/"))
    pattern = expression if anchored else f"(?:.*/)?{expression}"
    try:
        return re.compile(pattern, re.DOTALL), folders_only, takes_back
    except re.error:  # a set such as [z-a], which git takes for nothing
        return None


def _without_last_blanks(line: str) -> str:
    """But for one behind a backslash, which is meant."""
    text = line.rstrip(" \t")
    backslashes = len(text) - len(text.rstrip("\\"))
    return line[: len(text) + 1] if backslashes % 2 else text


def _expression(text: str) -> str:
    found, place = "", 0
    while place < len(text):
        rest = text[place:]
        if rest.startswith("**/") and (place == 0 or text[place - 1] == "/"):
            found, place = found + "(?:.*/)?", place + 3
        elif rest == "**" and text[:place].endswith("/"):
            found, place = found + ".+", place + 2
        elif rest[0] == "*":
            length = len(rest) - len(rest.lstrip("*"))
            found, place = found + "[^/]*", place + length
        elif rest[0] == "?":
            found, place = found + "[^/]", place + 1
        elif rest[0] == "[" and (end := rest.find("]", 3 if rest[1:2] in "!^" else 2)) > 0:
            inside = rest[1:end]
            negated = inside[:1] in ("!", "^")
            inside = inside[1:] if negated else inside
            inside = inside.replace("\\", "\\\\").replace("[", "\\[")
            found += f"(?!/)[{'^' if negated else ''}{inside}]"
            place += end + 1
        elif rest[0] == "\\" and len(rest) > 1:
            found, place = found + re.escape(rest[1]), place + 2
        else:
            found, place = found + re.escape(rest[0]), place + 1
    return found

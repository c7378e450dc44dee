"""Small changes of a config.pbtxt that leave every other character as it is, comments too."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from worker_runtime.errors import Problem
from worker_runtime.repository.pbtxt import Place, places


def value_replaced(text: str, path: str, value: str) -> str:
    """``text`` with the scalar at ``path`` written as ``value``; "" when it is not there."""
    place = places(text).get(path)
    if place is None or place.value in "{<[":
        return ""
    return text[: place.start] + value + text[place.end :]


def list_replaced(text: str, path: str, values: Sequence[int]) -> str:
    """The numbers of a list in brackets, written anew; "" where it is not written like that."""
    place = places(text).get(path)
    if place is None or place.value != "[":
        return ""
    end = text.find("]", place.start)
    if end < 0 or "#" in text[place.start : end]:
        return ""
    return text[: place.start] + "[ " + ", ".join(map(str, values)) + " ]" + text[end + 1 :]


def line_added(text: str, line: str, *, after: str = "name") -> str:
    """``line`` behind the field ``after``, or at the top when that is not written."""
    place = places(text).get(after)
    if place is None:
        return f"{line}\n{text}"
    end = text.find("\n", place.end)
    at = len(text) if end < 0 else end + 1
    gap = "" if end >= 0 else "\n"
    return text[:at] + gap + line + "\n" + text[at:]


def field_removed(text: str, path: str) -> str:
    """``text`` without a field that has a scalar value and, if nothing else is there, its line."""
    place = places(text).get(path)
    if place is None or place.value in "{<[":
        return ""
    start = text.rfind("\n", 0, place.start) + 1
    end = text.find("\n", place.end)
    end = len(text) if end < 0 else end + 1
    name = re.escape(path.rpartition(".")[2].partition("[")[0])
    line = text[start:end].strip()
    if re.fullmatch(rf"{name}\s*:\s*{re.escape(place.value)}\s*[;,]?\s*(#.*)?", line):
        return text[:start] + text[end:]
    return ""


def removed(text: str, path: str) -> str:
    """``text`` without the field at ``path``, whatever its value, and an empty line it leaves.

    "" when it is not there; comments inside of it go with it.
    """
    place = places(text).get(path) or places(text).get(path.removesuffix("[0]"))
    if place is None:
        return ""
    start = _offset(text, place.line, place.column)
    end = _closed(text, place.start) if place.value in "{<[" else place.end
    line = text.rfind("\n", 0, start) + 1
    after = re.compile(r"[ \t]*(?:[,;][ \t]*)?(\n|$)").match(text, end)
    if not text[line:start].strip() and after is not None:
        return text[:line] + text[after.end() :]
    return text[:start].rstrip(" \t") + text[end:]


def _offset(text: str, line: int, column: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    return at + column - 1


_TOKEN = re.compile(r"""#[^\n]*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[{}<>\[\]]""")


def _closed(text: str, start: int) -> int:
    """One past the bracket that closes the one at ``start``."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "{<[") - (token[0] in "}>]")
        if depth == 0:
            return token.end()
    return len(text)


def fixed(problem: Problem, label: str, text: str) -> Problem:
    """The finding with a remedy, when there is one: ``text`` is the whole corrected text."""
    return replace(problem, fix_label=label, fix=text) if text else problem


def at(problem: Problem, where: dict[str, Place]) -> Problem:
    place = where.get(problem.field)
    return replace(problem, line=place.line, column=place.column) if place else problem

"""Where a field stands in a config.pbtxt: protobuf's parser forgets positions, people need them."""

import re
from bisect import bisect_right
from typing import NamedTuple

# why quotes need not be closed: else what follows one that is not is read again from each place
_TOKEN = re.compile(
    r"""(?P<skip>[\s,;]+|\#[^\n]*)
      | (?P<scalar>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[^\s,;\#{}<>\[\]:"']+)
      | (?P<open>[{<])|(?P<close>[}>])|(?P<lopen>\[)|(?P<lclose>\])|(?P<colon>:)
      | (?P<junk>.)""",
    re.VERBOSE,
)


_DEEPEST = 64


class Place(NamedTuple):
    """Line and column count from 1; ``start:end`` is the value's span in the text."""

    line: int
    column: int
    start: int
    end: int
    value: str


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def places(text: str) -> dict[str, Place]:
    """Every field of ``text`` by path: ``name``, ``input[0].dims``; bad syntax ends the walk.

    A message field is indexed in order of appearance however its list is written, and the first
    one also answers to its bare name.
    """
    return _Walk(text).found


class _Walk:
    def __init__(self, text: str) -> None:
        self._tokens = [
            _Token(match.lastgroup or "", match.group(), match.start())
            for match in _TOKEN.finditer(text)
            if match.lastgroup != "skip"
        ]
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.found: dict[str, Place] = {}
        self._message("", 0)

    def _kind(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else "end"

    def _record(self, path: str, name: _Token, value: _Token) -> None:
        line = bisect_right(self._lines, name.start)
        column = name.start - self._lines[line - 1] + 1
        end = value.start + len(value.text)
        self.found.setdefault(path, Place(line, column, value.start, end, value.text))

    def _message(self, prefix: str, depth: int) -> None:
        if depth > _DEEPEST:
            self._at = len(self._tokens)  # no configuration is like this: the walk ends
        counts: dict[str, int] = {}
        while self._kind() == "scalar":
            name = self._tokens[self._at]
            self._at += 1
            if self._kind() == "colon":
                self._at += 1
            if self._kind() == "lopen":
                opening = self._tokens[self._at]
                self._record(f"{prefix}{name.text}", name, opening)
                self._at += 1
                while self._kind() in {"scalar", "open"}:
                    self._value(prefix, name, counts, depth)
                if self._kind() == "lclose":
                    self._at += 1
            elif self._kind() in {"scalar", "open"}:
                self._value(prefix, name, counts, depth)

    def _value(self, prefix: str, name: _Token, counts: dict[str, int], depth: int) -> None:
        token = self._tokens[self._at]
        self._at += 1
        index = counts.get(name.text, 0)
        counts[name.text] = index + 1
        shown = name if index == 0 else token
        self._record(f"{prefix}{name.text}", name, token)
        self._record(f"{prefix}{name.text}[{index}]", shown, token)
        if token.kind == "open":
            self._message(f"{prefix}{name.text}[{index}].", depth + 1)
            if self._kind() == "close":
                self._at += 1

"""config.pbtxt to ``inference.ModelConfig`` and back, with errors that point at the line.

Also where each field stands in the text: protobuf's parser forgets positions, people need them.
"""

import difflib
import re
from bisect import bisect_right
from typing import Any, NamedTuple

from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.types.triton_messages import model_config_pb2

_POSITION = re.compile(r"^\d+:\d+ : ")
_QUOTE = re.compile(r"^'.*?': (?=[A-Z])", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r'Message type "([\w.]+)" has no field named "([\w.-]+)"')
_UNKNOWN_ENUM = re.compile(r'Enum type "([\w.]+)" has no value named ([\w-]+)')
# why quotes need not be closed: else what follows one that is not is read again from each place
_TOKEN = re.compile(
    r"""(?P<skip>[\s,;]+|\#[^\n]*)
      | (?P<scalar>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[^\s,;\#{}<>\[\]:"']+)
      | (?P<open>[{<])|(?P<close>[}>])|(?P<lopen>\[)|(?P<lclose>\])|(?P<colon>:)
      | (?P<junk>.)""",
    re.VERBOSE,
)


_DEEPEST = 64


def parse(text: str, source: str = "config.pbtxt") -> Any:
    """The configuration in ``text``. Raises ConfigInvalid naming ``source:line:column``."""
    config = model_config_pb2.ModelConfig()
    try:
        _check_characters(text)
        text_format.Parse(text, config)
        if unknown := unknown_value(config):
            raise ValueError(unknown)
    # why both: protobuf lets its own errors through where a number does not fit an enum.
    except (text_format.ParseError, ValueError) as error:
        problem = _explain(text, error)
        where = f"{source}:{problem.line}:{problem.column}"
        raise ConfigInvalid(f"{where}: {problem.message}", (problem,)) from error
    return config


def render(config: Any) -> str:
    """The complete configuration as text that ``parse`` reads back to the same message."""
    text: str = text_format.MessageToString(
        config, use_short_repeated_primitives=True, as_utf8=True
    )
    return text


def _check_characters(text: str) -> None:
    """As C++ protobuf, and so Triton, has it: Python's takes U+0000 for a part of names."""
    if (at := text.find("\0")) >= 0:
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise text_format.ParseError("The character U+0000 cannot stand here", line, column)


def _explain(text: str, error: ValueError) -> Problem:
    if not isinstance(error, text_format.ParseError):
        return _out_of_range(text, str(error))
    line, column = error.GetLine() or 1, error.GetColumn() or 1
    message = _QUOTE.sub("", _POSITION.sub("", str(error)))
    unknown = _UNKNOWN_FIELD.search(message)
    if unknown:
        return _unknown_field(text, line, column, *unknown.groups())
    enum = _UNKNOWN_ENUM.search(message)
    if enum:
        return _unknown_enum(text, line, column, *enum.groups())
    hints: tuple[str, ...] = ()
    if 'Expected "}"' in message or 'Expected "]"' in message:
        hints = ("a bracket that was opened above is not closed",)
    elif 'Expected ":"' in message:
        hints = ("fields are written as  name: value  or  name { ... }",)
    return Problem("ConfigInvalid", message, line=line, column=column, hints=hints)


def _out_of_range(text: str, message: str) -> Problem:
    """Of such a number only the value is known; it stands where it is first."""
    value = message.rpartition(": ")[2]
    at = max(0, text.find(value)) if value else 0
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Problem("ConfigInvalid", message, line=line, column=column)


def _unknown_field(text: str, line: int, column: int, kind: str, name: str) -> Problem:
    descriptor = _message_named(kind)
    known = [field.name for field in descriptor.fields] if descriptor else []
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    # why search back: for a field with a message value the parser points behind the name.
    line, column = _find_before(text, name, line, column)
    message = f'unknown field "{name}" in {kind.rsplit(".", 1)[-1]}'
    return Problem(
        "ConfigInvalid",
        message,
        line=line,
        column=column,
        field=name,
        detail="expected one of: " + ", ".join(known),
        hints=(f'did you mean "{close[0]}"?',) if close else (),
        fix_label=f"Write {close[0]}" if close else "",
        fix=_replace_at(text, line, column, name, close[0]) if close else "",
    )


def _unknown_enum(text: str, line: int, column: int, kind: str, value: str) -> Problem:
    enum = model_config_pb2.DESCRIPTOR.enum_types_by_name.get(kind.rsplit(".", 1)[-1])
    names = [item.name for item in enum.values] if enum else _nested_enum(kind)
    close = _enum_guess(value, names)
    line, column = _find_before(text, value, line, column)
    return Problem(
        "ConfigInvalid",
        f"{value} is not a value of {kind.rsplit('.', 1)[-1]}",
        line=line,
        column=column,
        field=value,
        detail="expected one of: " + ", ".join(names),
        hints=(f"did you mean {close}?",) if close else (),
        fix_label=f"Write {close}" if close else "",
        fix=_replace_at(text, line, column, value, close) if close else "",
    )


def _enum_guess(value: str, names: list[str]) -> str:
    aliases = {"TYPE_BYTES": "TYPE_STRING", "BYTES": "TYPE_STRING", "FLOAT": "TYPE_FP32"}
    upper = value.upper()
    for candidate in (upper, f"TYPE_{upper}", f"KIND_{upper}", aliases.get(upper, "")):
        if candidate in names:
            return candidate
    close = difflib.get_close_matches(upper, names, n=1, cutoff=0.6)
    return close[0] if close else ""


def _message_named(full_name: str) -> Descriptor | None:
    todo = list(model_config_pb2.DESCRIPTOR.message_types_by_name.values())
    while todo:
        item = todo.pop()
        if item.full_name == full_name:
            return item
        todo.extend(item.nested_types)
    return None


def _nested_enum(full_name: str) -> list[str]:
    parent, _, name = full_name.rpartition(".")
    descriptor = _message_named(parent)
    enum = descriptor.enum_types_by_name.get(name) if descriptor else None
    return [item.name for item in enum.values] if enum else []


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(row) for row in text.splitlines(keepends=True)[: line - 1]) + column - 1


def _find_before(text: str, word: str, line: int, column: int) -> tuple[int, int]:
    limit = _offset(text, line, column)
    if text.startswith(word, limit):
        return line, column
    matches = [m.start() for m in re.finditer(rf"\b{re.escape(word)}\b", text[: limit + 1])]
    if not matches:
        return line, column
    before = text[: matches[-1]]
    return before.count("\n") + 1, matches[-1] - (before.rfind("\n") + 1) + 1


def _replace_at(text: str, line: int, column: int, old: str, new: str) -> str:
    at = _offset(text, line, column)
    return text[:at] + new + text[at + len(old) :] if text.startswith(old, at) else ""


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


def unknown_value(message: Any, where: str = "") -> str:
    """The first number that stands for no value of its enum, with its field; "" without one.

    proto3 keeps them, and nobody knows their meaning.
    """
    for field, value in message.ListFields():
        path = f"{where}{field.name}"
        if field.enum_type is not None:
            for number in value if field.is_repeated else [value]:
                if number not in field.enum_type.values_by_number:
                    return f"{path} is no value of {field.enum_type.name}: {number}"
        elif field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                inner = field.message_type.fields_by_name["value"].message_type
                items = value.values() if inner is not None else ()
            else:
                items = value if field.is_repeated else [value]
            for item in items:
                if found := unknown_value(item, f"{path}."):
                    return found
    return ""

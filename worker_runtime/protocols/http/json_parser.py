"""JSON read slowly, for what the quick decoders refuse: it says where and why, in Triton's words.

Beyond the standard it knows NaN, Inf and Infinity, takes strings whose bytes are not UTF-8, and of
a name given twice the first value. Those bytes are kept as surrogate escapes.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_values import BadJson

MAX_DEPTH = 100
TOO_DEEP = f"JSON nesting depth exceeds maximum allowed limit ({MAX_DEPTH})"

_FAULT = "failed to parse the request JSON buffer: "
DEEPEST = 2000  # of what is built at all
_EXACT_BELOW = 32 * 1024  # the parser below takes a millisecond for each of these KiB
_HUGE = 1024 * 1024
_AT = re.compile(r"invalid character \(byte ([0-9]+)\)")  # msgspec's words
_UNUSUAL = b"NI-"  # begin numbers that are not finite
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PERHAPS_TOO_BIG = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{309}")
_SPACE = re.compile(rb"[ \n\r\t]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_ESCAPES = {
    b'"': b'"',
    b"\\": b"\\",
    b"/": b"/",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
}
_TOO_BIG = "too big"
# What Python's own reader finds, as far as that tells which of these it is.
_ROUGHLY = {
    _TOO_BIG: "Number too big to be stored in double.",
    "Expecting ',' delimiter": "Missing a comma or a closing bracket.",
    "Expecting ':' delimiter": "Missing a colon after a name of object member.",
    "Expecting property name enclosed in double quotes": "Missing a name for object member.",
    "Unterminated string starting at": "Missing a closing quotation mark in string.",
    "Invalid \\escape": "Invalid escape character in string.",
    "Invalid \\uXXXX escape": "Incorrect hex digit after \\u escape in string.",
    "Invalid control character at": "Invalid escape character in string.",
    "Extra data": "The document root must not be followed by other values.",
}
_LITERALS = {b"t": (b"true", True), b"f": (b"false", False), b"n": (b"null", None)}


def read(raw: bytes) -> Any:
    """The document in ``raw``. Raises BadJson.

    A large one is not looked at so closely that the event loop would have to wait for it: of a
    name given twice the last value counts, and what is wrong is told roughly.
    """
    if len(raw) > _EXACT_BELOW:
        return _read_roughly(raw)
    if not _SURROGATE.search(raw):
        try:
            return _loads(raw, object_pairs_hook=_first_wins, parse_float=_finite)
        except RecursionError as error:
            raise InvalidArgument(TOO_DEEP) from error
        except ValueError:
            pass  # the next one tells
    return _Parser(raw).document()


def read_again(raw: bytes) -> Any:
    """As ``read``, exactly, for what was found to be JSON already: it may be larger."""
    try:
        return _loads(raw, object_pairs_hook=_first_wins, parse_float=_finite)
    except RecursionError as error:
        raise InvalidArgument(TOO_DEEP) from error


def _read_roughly(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        _check_huge(raw, str(error))
    return loosely(raw)


def _check_huge(
    raw: bytes, complaint: str, size: int | None = None, place: Callable[[int], int] = int
) -> None:
    """Raises BadJson for what nobody reads, so that it is not even decoded."""
    at = _AT.search(complaint)
    if (size or len(raw)) <= _HUGE or at is None:
        return
    if raw[int(at[1])] not in _UNUSUAL:
        raise _fault("Invalid value.", place(int(at[1])))


def loosely(raw: bytes, place: Callable[[int], int] = int) -> Any:
    """The document in ``raw``, by Python's reader. Raises BadJson, which tells the ``place``.

    why no hook for floats at first: calling one takes longer than all else.
    """
    try:
        found = _loads(raw)
        if _PERHAPS_TOO_BIG.search(raw):
            found = _loads(raw, parse_float=_finite)
    except RecursionError as error:
        raise InvalidArgument(TOO_DEEP) from error
    except json.JSONDecodeError as error:
        what = _ROUGHLY.get(error.msg, "Invalid value.")
        at = len(error.doc[: error.pos].encode("utf-8", "surrogateescape"))
        raise _fault(what, place(at)) from error
    except ValueError as error:
        raise _fault(_ROUGHLY.get(str(error), "Invalid value."), 0) from error
    return found


def _loads(raw: bytes, **how: Any) -> Any:
    return json.loads(raw.decode("utf-8-sig", "surrogateescape"), **how)


class Checker:
    """Looks at parts of a document of ``size`` bytes, in their order, as ``read`` does at it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._unusual = False

    def check(self, raw: bytes, place: Callable[[int], int]) -> None:
        """Raises BadJson for a part that is none; ``place`` is where in the whole is what."""
        try:
            msgspec.json.decode(raw, type=msgspec.Raw)
            return
        except (ValueError, RecursionError):
            pass
        if not self._unusual:
            try:
                msgspec.json.decode(raw)  # which counts to another letter of what is no literal
            except (ValueError, RecursionError) as error:
                _check_huge(raw, str(error), self._size, place)
        self._unusual = True
        loosely(raw, place)


class _Repeating(dict[str, Any]):
    """An object some of whose names were given more than once; ``names`` are all of them."""

    names: tuple[str, ...]


def names_of(document: dict[str, Any]) -> tuple[str, ...]:
    """The names of an object's members, as often as they were given."""
    return document.names if isinstance(document, _Repeating) else tuple(document)


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating = _Repeating(reversed(pairs))
    repeating.names = tuple(name for name, _ in pairs)
    return repeating


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(_TOO_BIG)
    return number


def _fault(what: str, at: int) -> BadJson:
    return BadJson(f"{_FAULT}{what} at {at}")


def missing_quote(at: int) -> BadJson:
    """Of a text that begins there and does not end, as ``loosely`` says it."""
    return _fault(_ROUGHLY["Unterminated string starting at"], at)


class _Parser:
    """Walks the bytes once, without recursion."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 3 if raw.startswith(b"\xef\xbb\xbf") else 0

    def document(self) -> Any:
        self._skip_space()
        if self._peek() in (b"", b"\0"):
            raise _fault("The document is empty.", self._at)
        open_values: list[tuple[Any, str]] = []
        while True:
            found, value = self._begin(open_values)
            if not found:
                continue
            if self._close(open_values, value):
                return self._result

    def _begin(self, open_values: list[tuple[Any, str]]) -> tuple[bool, Any]:
        """Read a whole scalar or empty container, or open one that has content."""
        char = self._peek()
        if char == b"{":
            self._skip_space(1)
            if self._peek() != b"}":
                self._open(open_values, {}, self._name())
                return False, None
            self._at += 1
            return True, {}
        if char == b"[":
            self._skip_space(1)
            if self._peek() != b"]":
                self._open(open_values, [], "")
                return False, None
            self._at += 1
            return True, []
        if char == b'"':
            return True, self._string()
        if char in _LITERALS:
            return True, self._literal(*_LITERALS[char])
        return True, self._number()

    def _open(self, open_values: list[tuple[Any, str]], holder: Any, name: str) -> None:
        if len(open_values) >= DEEPEST:
            raise InvalidArgument(TOO_DEEP)
        open_values.append((holder, name))

    def _close(self, open_values: list[tuple[Any, str]], value: Any) -> bool:
        """Put a finished value where it belongs; True when the document is complete."""
        while open_values:
            holder, name = open_values[-1]
            self._skip_space()
            char = self._peek()
            if isinstance(holder, list):
                holder.append(value)
                if char == b",":
                    self._skip_space(1)
                    return False
                if char != b"]":
                    raise _fault("Missing a comma or ']' after an array element.", self._at)
            else:
                holder.setdefault(name, value)
                if char == b",":
                    self._skip_space(1)
                    open_values[-1] = (holder, self._name())
                    return False
                if char != b"}":
                    raise _fault("Missing a comma or '}' after an object member.", self._at)
            self._at += 1
            value = holder
            open_values.pop()
        self._skip_space()
        if self._peek() not in (b"", b"\0"):
            raise _fault("The document root must not be followed by other values.", self._at)
        self._result = value
        return True

    def _peek(self) -> bytes:
        return self._raw[self._at : self._at + 1]

    def _skip_space(self, ahead: int = 0) -> None:
        self._at = _SPACE.match(self._raw, self._at + ahead).end()  # type: ignore[union-attr] # it fits everywhere

    def _name(self) -> str:
        """A member's name, its colon, and the space up to its value."""
        if self._peek() != b'"':
            raise _fault("Missing a name for object member.", self._at)
        name = self._string()
        self._skip_space()
        if self._peek() != b":":
            raise _fault("Missing a colon after a name of object member.", self._at)
        self._skip_space(1)
        return name

    def _literal(self, literal: bytes, value: Any) -> Any:
        for at in range(len(literal)):
            if self._raw[self._at + at : self._at + at + 1] != literal[at : at + 1]:
                raise _fault("Invalid value.", self._at + at)
        self._at += len(literal)
        return value

    def _string(self) -> str:
        parts: list[bytes] = []
        at = self._at + 1
        while True:
            end = _PLAIN.match(self._raw, at).end()  # type: ignore[union-attr] # it fits everywhere
            parts.append(self._raw[at:end])
            char = self._raw[end : end + 1]
            if char == b'"':
                self._at = end + 1
                return b"".join(parts).decode("utf-8", "surrogateescape")
            if char in (b"", b"\0"):
                raise _fault("Missing a closing quotation mark in string.", end)
            if char != b"\\":
                raise _fault("Invalid escape character in string.", end)
            escape = self._raw[end + 1 : end + 2]
            if escape == b"u":
                text, at = self._unicode(end)
                parts.append(text)
            elif escape in _ESCAPES:
                parts.append(_ESCAPES[escape])
                at = end + 2
            else:
                raise _fault("Invalid escape character in string.", end)

    def _unicode(self, start: int) -> tuple[bytes, int]:
        """An escaped character, or a pair of escapes, as UTF-8; and where it ends."""
        code, at = self._hex(start, start + 2), start + 6
        if 0xD800 <= code <= 0xDFFF:
            if code > 0xDBFF or self._raw[at : at + 2] != b"\\u":
                raise _fault("The surrogate pair in string is invalid.", start)
            low, at = self._hex(start, at + 2), at + 6
            if not 0xDC00 <= low <= 0xDFFF:
                raise _fault("The surrogate pair in string is invalid.", start)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        return chr(code).encode(), at

    def _hex(self, start: int, at: int) -> int:
        found = _HEX.match(self._raw, at)
        if found is None:
            raise _fault("Incorrect hex digit after \\u escape in string.", start)
        return int(found[0], 16)

    def _number(self) -> int | float:
        start = at = self._at
        negative = self._raw[at : at + 1] == b"-"
        at += negative
        char = self._raw[at : at + 1]
        if not char.isdigit():
            return self._not_finite(at, negative=negative)
        whole = True
        at = at + 1 if char == b"0" else self._digits(at)
        if self._raw[at : at + 1] == b".":
            whole, end = False, self._digits(at + 1)
            if end == at + 1:
                raise _fault("Miss fraction part in number.", end)
            at = end
        if self._raw[at : at + 1] in (b"e", b"E"):
            whole = False
            at += 2 if self._raw[at + 1 : at + 2] in (b"+", b"-") else 1
            end = self._digits(at)
            if end == at:
                raise _fault("Miss exponent in number.", at)
            at = end
        self._at = at
        text = self._raw[start:at]
        if whole and len(text) < 100:
            return int(text)
        number = float(text)
        if math.isinf(number):
            raise _fault("Number too big to be stored in double.", start)
        return number

    def _digits(self, at: int) -> int:
        return _DIGITS.match(self._raw, at).end()  # type: ignore[union-attr] # it fits everywhere

    def _not_finite(self, at: int, *, negative: bool) -> float:
        for literal, number in ((b"NaN", math.nan), (b"Infinity", math.inf), (b"Inf", math.inf)):
            if self._raw.startswith(literal, at):
                self._at = at + len(literal)
                return -number if negative else number
        raise _fault("Invalid value.", at)

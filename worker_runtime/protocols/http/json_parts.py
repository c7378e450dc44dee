"""A large JSON document in parts, cut at commas: looking at one holds the event loop up briefly.

A part with the brackets that are open where it begins in front of it, and those where it ends
closed behind it, is a document of its own: the whole is JSON if all of these are, and what is
wrong with one of them is what is wrong with the whole.
"""

from typing import Any, NamedTuple

import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import DEEPEST, TOO_DEEP
from worker_runtime.protocols.http.slices import Steps

Codes = np.ndarray[Any, np.dtype[np.uint8]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]
PART_BYTES = 32 * 1024
_BEHIND = 16  # bytes that whoever finds the fault may still look at
_QUOTE, _SPACE, _BACKSLASH = b'" \\'
_NO_PLACES, _NO_CODES = np.empty(0, np.int64), np.empty(0, np.uint8)
_OPENER = {ord("]"): ord("["), ord("}"): ord("{")}
_OTHERS = bytes({*range(256)} - {*b"[]{}"})
_IS_BRACKET = np.isin(np.arange(256), (*b"[]{}",))
_CLOSING = bytes.maketrans(b"[{", b"]}")
_FIRST = {b"": b"", b"[": b"[0,", b"{": b'{"":0,'}
_LAST = {b"": b"", b"[": b",0]", b"{": b',"":0}'}


class Part(NamedTuple):
    """``text`` begins at ``at``; ``before`` and ``after`` are open where it begins and ends.

    ``lowest``: so many of those that are open before it stay open all the time. ``brackets`` that
    do not stand in texts are at ``places`` of it.
    """

    text: bytes
    at: int
    before: bytes
    after: bytes
    lowest: int
    places: Places
    brackets: Codes

    @property
    def opening(self) -> bytes:
        """What makes it a document, in front of it: elements stand before it, as in the whole."""
        outer = self.before[:-1].replace(b"{", b'{"":')
        return outer + _FIRST[self.before[-1:]]

    @property
    def document(self) -> bytes:
        closing = _LAST[self.after[-1:]] + self.after[:-1].translate(_CLOSING)[::-1]
        return self.opening + self.text + closing

    @property
    def alone(self) -> bytes:
        """The same of lists that are known to be JSON, without such elements."""
        return self.before + self.text + self.after.translate(_CLOSING)[::-1]


class Parts:
    """Of ``raw``, whatever it is; what is no JSON is found by who decodes the parts."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        self._open = bytearray()
        self._lowest = 0  # so many were open while the part was looked at

    def next(self) -> Steps[Part | None]:
        """None at the end. Raises InvalidArgument for what is nested too deeply."""
        begin, before, self._lowest = self._at, bytes(self._open), len(self._open)
        if begin > len(self._raw):
            return None
        at, quoted, fits, found = begin, 0, True, [(_NO_PLACES, _NO_CODES)]
        while at < len(self._raw) and fits:
            chunk = self._chunk(at)
            codes, quoted = without_texts(chunk, quoted)
            plain = codes.tobytes()
            comma = plain.rfind(b",")
            if brackets := plain[: comma if comma >= 0 else len(plain)].translate(None, _OTHERS):
                places = np.flatnonzero(_IS_BRACKET[codes])[: len(brackets)]
                found.append((at - begin + places, np.frombuffer(brackets, np.uint8)))
                fits = self._nest(brackets)
            if comma >= 0 and fits and self._open:
                self._at = at + comma + 1
                return self._part(begin, at + comma, before, found)
            at += len(chunk)
            if comma >= 0:  # outside of everything, or behind what does not fit: no JSON
                break
            yield None
        self._at = len(self._raw) + 1
        self._open.clear()
        return self._part(begin, at + _BEHIND, before, found)

    def _part(self, begin: int, end: int, before: bytes, found: list[tuple[Places, Codes]]) -> Part:
        places, brackets = map(np.concatenate, zip(*found, strict=True))
        after = bytes(self._open)
        return Part(self._raw[begin:end], begin, before, after, self._lowest, places, brackets)

    def _chunk(self, at: int) -> bytes:
        """Some bytes from there; no escape is cut in two."""
        chunk = self._raw[at : at + PART_BYTES]
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:
            chunk = self._raw[at : at + PART_BYTES + 1]
        return chunk

    def _nest(self, brackets: bytes) -> bool:
        """Open and close; whether closing ones fit opening ones."""
        # why: rows of a list are many, and memory is quicker than a look at each
        for char in brackets.replace(b"[]", b"").replace(b"{}", b""):
            if char not in _OPENER:
                self._open.append(char)
                if len(self._open) > DEEPEST:
                    raise InvalidArgument(TOO_DEEP)
                continue
            if not self._open or self._open.pop() != _OPENER[char]:
                return False
            self._lowest = min(self._lowest, len(self._open))
        return True


def without_texts(chunk: bytes, quoted: int) -> tuple[Codes, int]:
    """Its bytes with spaces for those of texts, and whether it ends in one; ``quoted``: begins."""
    codes = np.frombuffer(chunk, np.uint8)
    if not quoted and b'"' not in chunk:
        return codes, 0
    quotes = codes == _QUOTE
    if b"\\" in chunk:
        quotes[1:] &= ~_escaping(codes)[:-1]
    inside = np.add.accumulate(quotes, dtype=np.uint8)
    if quoted:
        inside += 1
    inside &= 1
    return np.where(inside, np.uint8(_SPACE), codes), int(inside[-1])


def _escaping(codes: Codes) -> Truths:
    """Which of them make the next one another: the first, third ... of backslashes in a row."""
    places = np.arange(len(codes), dtype=np.int32)
    backslashes = codes == _BACKSLASH
    last_other = np.maximum.accumulate(np.where(backslashes, np.int32(-1), places))
    found: Truths = backslashes & ((places - last_other) & 1).astype(np.bool_)
    return found

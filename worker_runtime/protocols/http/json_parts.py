"""A large JSON document in parts, cut at commas and within long texts: looking at one is brief.

A part with the brackets that are open where it begins in front of it, and those where it ends
closed behind it, is a document of its own: the whole is JSON if all of these are, and what is
wrong with one of them is what is wrong with the whole. The same goes for the quotes of a text.
"""

from typing import Any, NamedTuple

import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import DEEPEST, TOO_DEEP, missing_quote
from worker_runtime.protocols.http.long_texts import text_cut
from worker_runtime.protocols.slices import Steps

Codes = np.ndarray[Any, np.dtype[np.uint8]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]
PART_BYTES = 32 * 1024
LONGEST = 256 * 1024  # bytes without a comma or a text to cut at, which one piece has to hold
_BEHIND = 16  # bytes that whoever finds the fault may still look at
_QUOTE, _SPACE, _BACKSLASH = b'" \\'
_NO_PLACES, _NO_CODES = np.empty(0, np.int64), np.empty(0, np.uint8)
_OPENER = {ord("]"): ord("["), ord("}"): ord("{")}
_OTHERS = bytes({*range(256)} - {*b"[]{}"})
_IS_BRACKET = np.isin(np.arange(256), (*b"[]{}",))
_LITERALS = b'0123456789+-.eE \t\r\n[]{}:"truefalsenullNaNInfinity'
_BLANK = b" \t\r\n"
_CLOSING = bytes.maketrans(b"[{", b"]}")
_FIRST = {b"": b"", b"[": b"[0,", b"{": b'{"":0,'}
_LAST = {b"": b"", b"[": b",0]", b"{": b',"":0}'}


class Part(NamedTuple):
    """``text`` begins at ``at``; ``before`` and ``after`` are open where it begins and ends.

    ``lowest``: so many of those that are open before it stay open all the time. ``brackets`` that
    do not stand in texts are at ``places`` of it. ``text_at``: where the text begins that goes on
    in it; ``text_open``: it ends within a text.
    """

    text: bytes
    at: int
    before: bytes
    after: bytes
    lowest: int
    places: Places
    brackets: Codes
    text_at: int | None = None
    text_open: bool = False

    @property
    def opening(self) -> bytes:
        """What makes it a document, in front of it: elements stand before it, as in the whole."""
        if self.text_at is not None:
            return self.before.replace(b"{", b'{"":') + b'"'
        outer = self.before[:-1].replace(b"{", b'{"":')
        return outer + _FIRST[self.before[-1:]]

    @property
    def document(self) -> bytes:
        if self.text_open:
            closing = b'"' + self.after.translate(_CLOSING)[::-1]
        else:
            closing = _LAST[self.after[-1:]] + self.after[:-1].translate(_CLOSING)[::-1]
        return self.opening + self.text + closing

    @property
    def alone(self) -> bytes:
        """The same of lists that are known to be JSON, without such elements."""
        start, end = b'"' * (self.text_at is not None), b'"' * self.text_open
        return self.before + start + self.text + end + self.after.translate(_CLOSING)[::-1]

    def place(self, at: int) -> int:
        """Where in the whole is what stands there in ``document``."""
        found = self.at + at - len(self.opening)
        return self.text_at if self.text_at is not None and found == self.at - 1 else found


class Parts:
    """Of ``raw``, whatever it is; what is no JSON is found by who decodes the parts."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        self._open = bytearray()
        self._lowest = 0  # so many were open while the part was looked at
        self._text_at: int | None = None  # where the text begins that goes on at ``_at``

    def next(self) -> Steps[Part | None]:
        """None at the end. Raises InvalidArgument for what is nested too deeply, or too long."""
        begin, before, self._lowest = self._at, bytes(self._open), len(self._open)
        within = text_at = self._text_at
        if begin == len(self._raw) and text_at is not None:
            raise missing_quote(text_at)
        if begin > len(self._raw):
            return None
        at, fits, found = begin, True, [(_NO_PLACES, _NO_CODES)]
        last = b"" if text_at is None else b":"
        while at < len(self._raw) and fits:
            chunk = self._chunk(at)
            codes, quoted = without_texts(chunk, int(text_at is not None))
            plain = codes.tobytes()
            comma = plain.rfind(b",")
            if brackets := plain[: comma if comma >= 0 else len(plain)].translate(None, _OTHERS):
                places = np.flatnonzero(_IS_BRACKET[codes])[: len(brackets)]
                found.append((at - begin + places, np.frombuffer(brackets, np.uint8)))
                fits = self._nest(brackets)
            if comma >= 0 and fits and self._open:
                self._at, self._text_at = at + comma + 1, None
                return self._part(begin, at + comma, before, found, within)
            if comma >= 0:  # outside of everything, or behind what does not fit: no JSON
                break
            text_at, last = self._texts(at, plain, text_at, last, quoted=quoted)
            at += len(chunk)
            if text_at is not None and (last == b":" or self._open[-1:] != b"{"):
                cut = text_cut(self._raw, max(begin, text_at + 1), at)
                if cut > max(begin, text_at + 1):
                    self._at, self._text_at = cut, text_at
                    return self._part(begin, cut, before, found, within)
            if at - begin > LONGEST:
                _check_scalar(plain, name=text_at is not None)
                break
            yield None
        self._at, self._text_at = len(self._raw) + 1, None
        self._open.clear()
        return self._part(begin, at + _BEHIND, before, found, within)

    def _texts(
        self, at: int, plain: bytes, text_at: int | None, last: bytes, *, quoted: int
    ) -> tuple[int | None, bytes]:
        """Where the text begins that is open at the end of a piece, and what stands before it."""
        outside = plain.rstrip(b" ") if quoted else plain
        if quoted and (text_at is None or outside):
            text_at = self._raw.find(b'"', at + len(outside))
        elif not quoted:
            text_at = None
        return text_at, outside.rstrip(_BLANK)[-1:] or last

    def _part(
        self,
        begin: int,
        end: int,
        before: bytes,
        found: list[tuple[Places, Codes]],
        within: int | None,
    ) -> Part:
        places, brackets = map(np.concatenate, zip(*found, strict=True))
        after, text = bytes(self._open), self._raw[begin:end]
        is_open = self._text_at is not None
        return Part(text, begin, before, after, self._lowest, places, brackets, within, is_open)

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


def _check_scalar(plain: bytes, *, name: bool) -> None:
    """Raises InvalidArgument unless there is something in it that is no JSON."""
    if name or not plain.translate(None, _LITERALS):
        raise InvalidArgument(
            f"the JSON has a name, a number or white space of more than {LONGEST} bytes"
        )


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

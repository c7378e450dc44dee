"""What a large request says without the values of its tensors, found without reading them.

What is left is small, and can be looked at in one go.
"""

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import Checker
from worker_runtime.protocols.http.json_parts import Part, Parts, Places, Truths
from worker_runtime.protocols.slices import Steps

# The decoder takes some 10 ms for so much, where it has few of these.
_QUICK_BYTES = 16 * 1024 * 1024
_LOOK_BYTES = 256 * 1024
_FEW = 100
_MOST_OBJECTS, _MOST_ESCAPES = 10_000, 100_000
_LARGE = 1024  # bytes of a value that is taken out
_NAME_BYTES = 64
_BLANK = b" \t\r\n"
# Values of tensors are lists with three more around them: document, "inputs", an input.
_DEPTH, _OUTER = 4, 2
_STEPS = np.zeros(256, np.int32)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_OPEN, _CLOSED = b"[]"


class Outline(msgspec.Struct):
    """``values`` by the marks that stand in their places in ``text``, as texts of JSON."""

    text: bytes
    values: dict[str, msgspec.Raw]


class _Values(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw(b"")


class _Inputs(msgspec.Struct):
    inputs: list[_Values]


_decoder = msgspec.json.Decoder(_Inputs)


def outlined(raw: bytes, mark: str, limit: int) -> Steps[Outline]:
    """Of a document that is checked on the way. Raises BadJson, and InvalidArgument.

    ``limit`` bounds what is left without the values of tensors.
    """
    if len(raw) <= _QUICK_BYTES and _is_plain(raw):
        quick = _quickly(raw, mark)
        if quick is not None and len(quick.text) <= limit:
            return quick
    parts, outliner, checker = Parts(raw), _Outliner(raw, mark, limit), Checker(len(raw))
    while (part := (yield from parts.next())) is not None:
        checker.check(part.document, part.place)
        outliner.take(part)
        yield None
    return outliner.cuts.outline()


def _is_plain(raw: bytes) -> bool:
    """Whether its decoder is as quick as it mostly is."""
    return not (_has_more(raw, b"{", _MOST_OBJECTS) or _has_more(raw, b"\\", _MOST_ESCAPES))


def _has_more(raw: bytes, char: bytes, most: int) -> bool:
    """Looked at until it is known. why not count alone: a search is ten times as quick."""
    at, count = -1, 0
    while count < _FEW:
        at = raw.find(char, at + 1)
        if at < 0:
            return False
        count += 1
    for begin in range(at + 1, len(raw), _LOOK_BYTES):
        count += raw.count(char, begin, begin + _LOOK_BYTES)
        if count > most:
            return True
    return False


def _quickly(raw: bytes, mark: str) -> Outline | None:
    """None where only a look at each part can tell."""
    try:
        inputs = _decoder.decode(raw).inputs
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    cuts, at = _Cuts(raw, mark), 0
    for item in inputs:
        data = memoryview(item.data)
        start = raw.find(data[:_LARGE], at) if len(data) > _LARGE else -1
        # why the name: the same may stand before it, where it means something else
        if start >= 0 and raw.startswith(data, start) and _is_data(raw, start):
            at = start + len(data)
            cuts.take(start, at, item.data)
    return cuts.outline()


class _Cuts:
    """Marks instead of values: ``mark`` is what nobody else writes."""

    def __init__(self, raw: bytes, mark: str) -> None:
        self._raw, self._mark = raw, mark
        self._kept: list[bytes] = []
        self._from = 0
        self._values: dict[str, msgspec.Raw] = {}
        self.size = 0  # of the text

    def keep(self, end: int) -> None:
        self._kept.append(self._raw[self._from : end])
        self.size += end - self._from
        self._from = end

    def take(self, start: int, end: int, value: msgspec.Raw | None = None) -> None:
        self.keep(start)
        mark = f"{self._mark}{len(self._values)}"
        self._values[mark] = value or msgspec.Raw(self._raw[start:end])
        self._kept.append(b'"%b"' % mark.encode())
        self._from = end

    def outline(self) -> Outline:
        self.keep(len(self._raw))
        return Outline(b"".join(self._kept), self._values)


class _Outliner:
    """Finds the values, part by part."""

    def __init__(self, raw: bytes, mark: str, limit: int) -> None:
        self._raw, self._limit = raw, limit
        self.cuts = _Cuts(raw, mark)
        self._open: int | None = None  # where a list begins that has not ended yet
        self._passed = False  # it is one of values

    def take(self, part: Part) -> None:
        if self._open is None or part.lowest < _DEPTH:
            self._find(part)
        if not self._passed:
            self.cuts.keep(part.at + len(part.text))
        if self.cuts.size > self._limit:
            raise InvalidArgument(
                "Request JSON without the values of its tensors exceeds the maximum allowed value "
                f"of {self._limit} bytes"
            )

    def _find(self, part: Part) -> None:
        begins, ends, listed = _lists(part)
        if self._open is not None:
            begins = np.concatenate(([self._open], begins))
            listed = np.concatenate(([self._passed], listed))
        for place in np.flatnonzero(ends - begins[: len(ends)] > _LARGE).tolist():
            if listed[place] and _is_data(self._raw, begin := int(begins[place])):
                self.cuts.take(begin, int(ends[place]))
        self._open, self._passed = None, False
        if len(begins) > len(ends):
            self._open = int(begins[-1])
            self._passed = bool(listed[-1]) and _is_data(self._raw, self._open)
            if self._passed:
                self.cuts.keep(self._open)


def _is_data(raw: bytes, begin: int) -> bool:
    """Whether what begins there is a member of that name, written plainly."""
    name = raw[max(0, begin - _NAME_BYTES) : begin].rstrip(_BLANK)
    return name.endswith(b":") and name[:-1].rstrip(_BLANK).endswith(b'"data"')


def _lists(part: Part) -> tuple[Places, Places, Truths]:
    """Where lists of the depth of values begin, and end; of the first it may be the end alone.

    Then for each beginning whether a list is what it is in, as inputs are.
    """
    places, found = part.places, part.brackets
    steps = _STEPS[found]
    depths = len(part.before) + np.cumsum(steps)
    begins = places[(depths == _DEPTH) & (found == _OPEN)]
    ends = places[(depths == _DEPTH - 1) & (found == _CLOSED)]
    outer = (depths == _OUTER) & (steps > 0)
    before = np.frombuffer(part.before[_OUTER - 1 : _OUTER], np.uint8)
    kinds = np.concatenate((before, found[outer]))
    last = np.searchsorted(places[outer], begins) + len(before) - 1
    return part.at + begins, part.at + ends + 1, kinds[last] == _OPEN

"""Where a long text of JSON may be cut, so that each piece of it is a text as good as the whole."""

import re

_CHARACTER = 4  # bytes of one in UTF-8, at most
_ESCAPE = 6
_BEGUN = re.compile(rb'\\u[^"\\]{0,3}\Z')
_FIRST_OF_TWO = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def text_cut(raw: bytes, low: int, high: int) -> int:
    """The last place up to ``high`` that is within no character, escape or pair of escapes.

    ``low`` is such a place of the same text; so is what comes back, where there is no other.
    """
    at = character_cut(raw, low, high)
    at -= _is_escaped(raw, low, at)
    for unfinished in (_BEGUN, _FIRST_OF_TWO):
        found = unfinished.search(raw[max(low, at - _ESCAPE) : at])
        if found is not None:
            start = at - len(found[0])
            if not _is_escaped(raw, low, start):
                at = start
    return at


def character_cut(raw: bytes, low: int, high: int) -> int:
    """The same of what is UTF-8, or nearly."""
    if high >= len(raw) or not _goes_on(raw[high]):
        return high
    for at in range(high - 1, max(low, high - _CHARACTER), -1):
        if not _goes_on(raw[at]):
            return at
    return high


def _goes_on(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def _is_escaped(raw: bytes, low: int, at: int) -> bool:
    """Whether a backslash stands before it that is none's own text."""
    before = raw[low:at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1

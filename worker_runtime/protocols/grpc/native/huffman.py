"""Texts of header blocks out of Huffman's code (RFC 7541, section 5.2), a byte at a time.

hpack's own table goes by half bytes. What two of them do is remembered here, so that the ids that
gateways send with each call are read in less than half of the time.
"""

import hpack
from hpack.huffman_table import (
    HUFFMAN_COMPLETE,
    HUFFMAN_EMIT_SYMBOL,
    HUFFMAN_FAIL,
    HUFFMAN_TABLE,
)


class _State(dict[int, "tuple[_State, bytes, bool]"]):
    """Where a reader is -> by the next byte: where it is then, what that adds to the text, and
    whether the text may end there. Filled as it is needed; all of all states would be 9 MB.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def __missing__(self, byte: int) -> "tuple[_State, bytes, bool]":
        number, text, flags = self._number, bytearray(), 0
        for half in (byte >> 4, byte & 15):
            number, flags, symbol = HUFFMAN_TABLE[number * 16 + half]
            if flags & HUFFMAN_FAIL:
                raise hpack.HPACKDecodingError("Invalid Huffman string")
            if flags & HUFFMAN_EMIT_SYMBOL:
                text.append(symbol)
        step = self[byte] = _STATES[number], bytes(text), bool(flags & HUFFMAN_COMPLETE)
        return step


_STATES = [_State(number) for number in range(len(HUFFMAN_TABLE) // 16)]


def decoded(code: bytes) -> bytes:
    """The text in ``code``, a short one, as each byte copies what is there.

    Raises HPACKDecodingError.
    """
    state, text, ends = _STATES[0], b"", True
    for byte in code:
        state, more, ends = state[byte]
        text += more
    if not ends:
        raise hpack.HPACKDecodingError("Incomplete Huffman string")
    return text

"""Bodies of known size that come in pieces, large ones straight into their final memory."""

import numpy as np

COPY_BELOW = 16 * 1024  # slices of smaller bytes are cheaper than views, and aligned


class SizedBody:
    """Feed bytes until the body is complete; what follows it comes back as the rest.

    ``lead`` bytes at its front are text: what is behind them, the first tensor, is aligned.
    """

    __slots__ = ("_at", "_view")

    def __init__(self, length: int, lead: int, start: bytes) -> None:
        # why numpy: it does not clear the memory first.
        pad = -max(0, lead) % 64
        self._view: memoryview = np.empty(pad + length, dtype=np.uint8).data[pad:]
        self._at = len(start)
        self._view[: self._at] = start

    @property
    def arrived(self) -> int:
        return self._at

    @property
    def left(self) -> int:
        """Bytes that are still to come."""
        return len(self._view) - self._at

    @property
    def room(self) -> memoryview:
        """Where the body goes on."""
        return self._view[self._at :]

    def grew(self, size: int) -> bytes | memoryview | None:
        """``size`` more bytes were written there: the body, once it is complete."""
        self._at += size
        if self._at < len(self._view):
            return None
        return bytes(self._view) if len(self._view) < COPY_BELOW else self._view

    def feed(self, data: bytes) -> tuple[bytes | memoryview | None, bytes]:
        """``(body, rest)`` once complete, ``(None, b"")`` before."""
        size = min(len(data), len(self._view) - self._at)
        self._view[self._at : self._at + size] = data[:size]
        return self.grew(size), data[size:]

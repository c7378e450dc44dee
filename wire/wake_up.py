"""Wake-up streams, ``GET /agent/v1/wake-ups`` and ``/agent/v1/gateway/wake-ups``: responses that
stay open, one word a line.

Agents of nodes and gateways keep one open, and fetch what should be at once at each wake-up.
"""

from typing import Final

WAKE_UP: Final = b"ring\n"  # what should be has changed
ALIVE: Final = b"alive\n"  # nothing has, but the connection works
LIFE_S: Final = 15.0  # of silence at most
LONGEST_LINE: Final = 64  # bytes


class Lines:
    """Cuts what comes, in whatever pieces, into whole lines."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Those that have ended, ``WAKE_UP`` and ``ALIVE``. Raises ValueError for anything else."""
        *whole, self._begun = (self._begun + chunk).split(b"\n")
        lines = [text + b"\n" for text in whole]
        for line in lines:
            if line not in {WAKE_UP, ALIVE}:
                raise ValueError(f"wake-ups: expected {WAKE_UP!r} or {ALIVE!r}, got {line[:100]!r}")
        if len(self._begun) > LONGEST_LINE:
            raise ValueError(
                f"wake-ups: more than {LONGEST_LINE} bytes in a line: {self._begun[:100]!r}"
            )
        return lines

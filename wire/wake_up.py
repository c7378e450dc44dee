"""The wake-up stream, ``GET /agent/v1/bell``: a response that stays open, one word a line.

A node's agent keeps it open, and fetches its desired state at once at each wake-up.
"""

from typing import Final

WAKE_UP: Final = b"ring\n"  # your desired state has changed
ALIVE: Final = b"alive\n"  # nothing has, but the connection works
LIFE_S: Final = 15.0  # of silence at most
LONGEST_LINE: Final = 64  # bytes

"""The words of the bell, ``GET /agent/v1/bell``: an answer that stays open, one word a line.

A node's agent keeps it open, and looks at its desired state at once when it is rung.
"""

from typing import Final

RING: Final = b"ring\n"  # your desired state has changed
ALIVE: Final = b"alive\n"  # nothing has, but the connection works
LIFE_S: Final = 15.0  # of silence at most
LONGEST_LINE: Final = 64  # bytes

"""Confines a process to what it was given, with what the kernel offers, and then becomes a program.

Standard library only, and nothing else of ours: it runs before anything is to be trusted.
"""

from pathlib import Path
from typing import Final

LAUNCHER: Final = str(Path(__file__).with_name("__main__.py"))
FAILED: Final = 125  # as `env` and `timeout` end when they could not start a program

"""Trace files: JSON arrays, one at the end or numbered ones on the way."""

import logging
from pathlib import Path

logger = logging.getLogger(__name__)


class TraceFile:
    """``name`` itself takes what is written in one go; ``name.0``, ``name.1``, ... the portions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._index = 0
        self._begun = False

    def write(self, elements: str, *, numbered: bool) -> None:
        """Elements of the array, separated by commas. A file that cannot be written is logged."""
        try:
            if numbered:
                Path(f"{self.name}.{self._index}").write_text(f"[{elements}]", encoding="utf-8")
                self._index += 1
                return
            with Path(self.name).open("a" if self._begun else "w", encoding="utf-8") as stream:
                stream.write(f"{',' if self._begun else '['}{elements}")
            self._begun = True
        except OSError as error:
            logger.error("failed creating trace file: %s", error)

    def close(self) -> None:
        """End the array."""
        if not self._begun:
            return
        self._begun = False
        try:
            with Path(self.name).open("a", encoding="utf-8") as stream:
                stream.write("]")
        except OSError as error:
            logger.error("failed creating trace file: %s", error)

"""The folder of captured data: one file is written, finished ones wait until somebody takes them.

A finished file says in its name what is in it: ``<first>-<last>-<records>-<dropped>.jsonl``, times
in milliseconds. Whoever takes it removes it. While nobody does, the folder grows up to its bounds;
what comes then is dropped and counted.
"""

import logging
import os
import re
import time
from pathlib import Path
from typing import BinaryIO

from worker_runtime.errors import InvalidArgument

logger = logging.getLogger(__name__)

OPEN = "open.jsonl"
FINISHED = re.compile(r"(\d{1,15})-(\d{1,15})-(\d{1,9})-(\d{1,12})\.jsonl", re.ASCII)
FILE_BYTES = 4 * 2**20
FOLDER_BYTES = 64 * 2**20
FOLDER_FILES = 2_000


class Spool:
    """Used by one thread."""

    def __init__(self, directory: Path, roll_s: float) -> None:
        """Raises InvalidArgument for a folder that cannot be made."""
        self._directory = directory
        self._roll_s = roll_s
        self._file: BinaryIO | None = None
        self._opened_at = 0.0
        self._first_ms = self._last_ms = self._records = self._bytes = 0
        self._dropped = 0
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            (directory / OPEN).unlink(missing_ok=True)  # of a life before, cut off anywhere
            self._waiting_bytes, self._waiting_files = self._waiting()
        except OSError as error:
            raise InvalidArgument(f"--capture-directory={directory}: {error}") from error

    def write(self, line: bytes, time_ns: int) -> bool:
        """Whether it was taken."""
        size = len(line)
        if self._bytes + size > FILE_BYTES:
            self.roll()
        if self._waiting_bytes + self._bytes + size > FOLDER_BYTES or self._too_many:
            self._waiting_bytes, self._waiting_files = self._waiting()  # some may have been taken
            if self._waiting_bytes + self._bytes + size > FOLDER_BYTES or self._too_many:
                return self.drop()
        now_ms = time_ns // 1_000_000
        try:
            file = self._file or self._begin(now_ms)
            file.write(line)
        except OSError as error:
            logger.warning("captured data is dropped: %s", error)
            return self.drop()
        self._first_ms, self._last_ms = min(self._first_ms, now_ms), max(self._last_ms, now_ms)
        self._records += 1
        self._bytes += size
        return True

    def drop(self, count: int = 1) -> bool:
        """Say with the next finished file that there were more."""
        self._dropped += count
        return False

    @property
    def _too_many(self) -> bool:
        return self._file is None and self._waiting_files >= FOLDER_FILES

    @property
    def due_s(self) -> float | None:
        """Until the file is to be finished; None: there is none."""
        if self._file is None:
            return None
        return max(0.0, self._opened_at + self._roll_s - time.monotonic())

    def roll(self) -> None:
        """Finish the file, if there is one."""
        if self._file is None:
            return
        file, self._file = self._file, None
        name = f"{self._first_ms}-{self._last_ms}-{self._records}-{self._dropped}.jsonl"
        try:
            file.close()
            (self._directory / OPEN).rename(self._directory / name)
        except OSError as error:
            logger.warning("%d captured records are lost: %s", self._records, error)
            self._dropped += self._records
        else:
            self._dropped = 0
            self._waiting_bytes += self._bytes
            self._waiting_files += 1
        self._bytes = self._records = 0

    def _begin(self, now_ms: int) -> BinaryIO:
        file = self._file = (self._directory / OPEN).open("wb")
        os.fchmod(file.fileno(), 0o600)
        self._opened_at = time.monotonic()
        self._first_ms = self._last_ms = now_ms
        return file

    def _waiting(self) -> tuple[int, int]:
        """Bytes and number of finished files."""
        sizes = []
        for file in self._directory.iterdir():
            if FINISHED.fullmatch(file.name):
                try:
                    sizes.append(file.stat().st_size)
                except FileNotFoundError:  # taken meanwhile
                    continue
        return sum(sizes), len(sizes)

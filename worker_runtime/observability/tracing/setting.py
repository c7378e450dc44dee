"""One trace setting in force: which requests are sampled, and the files that their traces go to."""

import logging
from pathlib import Path

from msgspec import Struct

from worker_runtime.observability.tracing.config import Level, Mode

logger = logging.getLogger(__name__)
DISABLED = "tracing is disabled"


class TraceFile:
    """JSON arrays: one at the end in ``name``, or on the way in ``name.0``, ``name.1``, ..."""

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


class Wanted(Struct, frozen=True):
    """The values of a setting; those named in ``own`` were set, the others fell back."""

    levels: frozenset[Level]
    rate: int
    count: int
    log_frequency: int
    own: frozenset[str] = frozenset()


class TraceSetting:
    """``count`` is what is left of it. Replaced as a whole by a change, then retired."""

    def __init__(self, wanted: Wanted, mode: Mode, file: TraceFile) -> None:
        self.levels = wanted.levels
        self.rate = wanted.rate
        self.count = wanted.count
        self.log_frequency = wanted.log_frequency
        self.own = wanted.own
        self.reason = self._reason(mode, file)
        self._file = file
        self._mode = mode
        self._seen = 0
        self._open = 0  # sampled requests whose trace is not complete
        self._created = 0
        self._collected = 0
        self._buffer: list[str] = []
        self._retired = False

    def _reason(self, mode: Mode, file: TraceFile) -> str:
        if not self.levels:
            return DISABLED
        if mode is Mode.TRITON:
            if self.rate == 0:
                return "sample rate must be non-zero"
            if not file.name:
                return "trace file name is not given"
        return ""

    @property
    def active(self) -> bool:
        """Whether a request may be sampled at all."""
        return not self.reason and self.count != 0

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.levels, self.rate, self.count, self.log_frequency, self.own)

    def sample(self) -> bool:
        """Count one request; True for every ``rate``-th while ``count`` lasts."""
        if not self.active or not self.rate:
            return False
        self._seen += 1
        if self._seen % self.rate:
            return False
        if self.count > 0:
            self.count -= 1
        self._created += 1
        self._open += 1
        return True

    def force(self) -> bool:
        """One request that the caller traces already: rate and count do not matter."""
        if self.reason:
            return False
        self._open += 1
        return True

    def collect(self, texts: list[str]) -> None:
        """The trace of one sampled request is complete: its JSON elements."""
        self._open -= 1
        if self._mode is Mode.TRITON:
            self._collected += 1
            self._buffer.append(",".join(texts))
            used_up = self.count == 0 and self._collected == self._created
            if used_up or (self.log_frequency and len(self._buffer) >= self.log_frequency):
                self._flush(numbered=True)
        if self._retired and not self._open:
            self._flush(numbered=self.log_frequency != 0)

    def retire(self) -> None:
        """Nothing more is sampled; what was collected is written once it is complete."""
        self._retired = True
        if not self._open:
            self._flush(numbered=self.log_frequency != 0)

    def _flush(self, *, numbered: bool) -> None:
        if self._buffer:
            self._file.write(",".join(self._buffer), numbered=numbered)
            self._buffer = []

"""One trace setting in force: which requests are sampled, and where their traces go."""

from msgspec import Struct

from worker_runtime.observability.tracing.config import Level, Mode
from worker_runtime.observability.tracing.file import TraceFile

DISABLED = "tracing is disabled"


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

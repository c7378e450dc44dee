"""When the cache is hashed again as a whole, and what the last time found: kept over restarts."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from node_agent.bandwidth import Throttle
from node_agent.cache import BlobCache
from node_agent.failure import size

logger = logging.getLogger(__name__)

NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Record:
    """`counted_from`: when the interval to the next check began, in Unix seconds."""

    counted_from: float
    finished_at: float = 0.0  # Unix seconds; 0: never yet
    files: int = 0
    size: int = 0  # bytes
    spoiled: int = 0  # files


class Schedule:
    """A check is due `interval_s` after the one before; 0 is never. `clock` tells Unix seconds."""

    def __init__(self, file: Path, *, interval_s: float, clock: Callable[[], float]) -> None:
        self._file = file
        self._interval_s = interval_s
        self._clock = clock
        self._record = self._read()

    @property
    def last(self) -> Record:
        return self._record

    def due_in_s(self) -> float:
        if not self._interval_s:
            return NEVER
        now = self._clock()
        if self._record.counted_from > now:  # the clock was set back
            self._record = replace(self._record, counted_from=now)
        return max(0.0, self._record.counted_from + self._interval_s - now)

    async def run(self, cache: BlobCache, *, throttle: Throttle) -> Record:
        """Hash all of it now, and remember what came of it. Raises OSError."""
        began = self._clock()
        found = await cache.recheck_all(throttle)
        now = self._clock()
        self._record = Record(now, now, found.files, found.size, found.spoiled)
        self._write()
        logger.log(
            logging.WARNING if found.spoiled else logging.INFO,
            "Hashed the cache again: %d files, %s, in %.0f s; %d had changed",
            found.files,
            size(found.size),
            now - began,
            found.spoiled,
        )
        return self._record

    def _read(self) -> Record:
        try:
            return Record(**json.loads(self._file.read_text()))
        except FileNotFoundError:
            pass
        except (ValueError, TypeError) as error:
            logger.warning("%s is damaged (%s); counting from now", self._file, error)
        self._record = Record(self._clock())
        self._write()
        return self._record

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(self._record)))
        temporary.replace(self._file)

"""Whether answers are those of the framework: of every request, its own."""

import numpy as np

_REMEMBERED = 64  # different right answers of one request, which batches of other sizes give
_LARGE = 1 << 20  # bytes: of answers from here on, which take the client long to compare,
_EVERY = 8  # this share is compared


def wrong_rows(found: np.ndarray, expected: np.ndarray, tolerance: float, largest: float) -> int:
    """How many rows differ by more than ``tolerance`` of the ``largest`` value, or are not finite.

    All of them where the shapes differ. ``largest`` is that of all samples: a single row of small
    values is no more exact than others.
    """
    if found.shape != expected.shape:
        return len(expected)
    rows = len(expected)
    wanted = expected.astype(np.float32).reshape(rows, -1)
    gap = np.abs(found.astype(np.float32).reshape(rows, -1) - wanted)
    # why by not: a gap that is no number is none that is small
    return rows - int((gap <= tolerance * largest).all(axis=1).sum())


def largest_value(expected: np.ndarray) -> float:
    return float(np.abs(expected.astype(np.float32)).max())


class Answers:
    """Compares the raw answers of requests that begin at some sample and go on from there."""

    def __init__(self, expected: np.ndarray, batch: int, tolerance: float) -> None:
        samples = len(expected)
        self._expected = [
            expected[(np.arange(batch) + first) % samples] for first in range(samples)
        ]
        self._tolerance = tolerance
        self._largest = largest_value(expected)
        self._right: list[set[bytes]] = [set() for _ in range(samples)]
        self._seen = 0
        self.checked = 0  # rows
        self.wrong = 0

    @property
    def byte_size(self) -> int:
        return self._expected[0].nbytes

    def due(self) -> bool:
        """Whether the next answer is one to compare."""
        self._seen += 1
        return self.byte_size < _LARGE or self._seen % _EVERY == 1

    def compare(self, first: int, raw: bytes) -> None:
        """``raw``: what the server gave to the request whose first row is sample ``first``."""
        expected = self._expected[first]
        self.checked += len(expected)
        if raw in self._right[first]:
            return
        if len(raw) != expected.nbytes:
            self.wrong += len(expected)
            return
        found = np.frombuffer(raw, expected.dtype).reshape(expected.shape)
        wrong = wrong_rows(found, expected, self._tolerance, self._largest)
        self.wrong += wrong
        if not wrong and len(self._right[first]) < _REMEMBERED and len(raw) < _LARGE:
            self._right[first].add(raw)

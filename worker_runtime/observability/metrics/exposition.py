"""The text of a scrape: everything that has families, one after the other."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from worker_runtime.observability.metrics.text import Family, render


class Source(Protocol):
    def collect(self) -> Iterator[Family]: ...


class Exposition:
    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)

    def text(self) -> bytes:
        return render(family for source in self._sources for family in source.collect())

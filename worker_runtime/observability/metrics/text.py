"""Prometheus text as Triton's library writes it: tools that match text find what they look for.

Labels are sorted, ``le`` and ``quantile`` come last, whole numbers have no fraction, and a family
without samples is not shown at all.
"""

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from time import monotonic
from typing import Protocol

from msgspec import Struct, field

Labels = Mapping[str, str]
_LAST = ("le", "quantile")
AT_ONCE = 1024  # samples that are read and written in one go, at some 1 to 2 µs each
_TURN_S = 0.002  # for those that take longer, as quantiles


class Family(Struct):
    """``kind``: counter, gauge, histogram or summary; a sample: suffix, labels as text, value.

    A family of many samples is given in parts, one right behind the other.
    """

    name: str
    text: str
    kind: str
    samples: list[tuple[str, str, float]] = field(default_factory=list)

    def add(self, labels: Labels, value: float, suffix: str = "") -> None:
        self.samples.append((suffix, _labels(labels), value))

    def add_histogram(
        self, labels: Labels, bounds: Sequence[float], counts: Sequence[int], total: float
    ) -> None:
        """``counts`` of the single buckets, with one more than ``bounds`` for the rest."""
        self.add(labels, sum(counts), "_count")
        self.add(labels, total, "_sum")
        # why by hand: these are by far the most lines, and a scrape runs in the event loop.
        begin = f"{_labels(labels)[:-1]}," if labels else "{"
        reached = 0
        for bound, count in zip(_shown(tuple(bounds)), counts, strict=True):
            reached += count
            self.samples.append(("_bucket", f'{begin}le="{bound}"}}', reached))

    def add_summary(
        self, labels: Labels, quantiles: Iterable[tuple[float, float]], count: int, total: float
    ) -> None:
        """``quantiles`` are pairs of quantile and value."""
        self.add(labels, count, "_count")
        self.add(labels, total, "_sum")
        for quantile, value in quantiles:
            self.add({**labels, "quantile": number(quantile)}, value)


def render(families: Iterable[Family]) -> Generator[None, None, bytes]:
    """The whole exposition; between two steps ``AT_ONCE`` samples, or less in what time there is,
    and the rest of a part."""
    written: list[bytes] = []
    lines: list[str] = []
    headed, began = "", monotonic()
    for family in families:
        if not family.samples:
            continue
        if family.name != headed:
            headed = family.name
            lines.append(f"# HELP {family.name} {_escaped(family.text)}")
            lines.append(f"# TYPE {family.name} {family.kind}")
        for suffix, labels, value in family.samples:
            lines.append(f"{family.name}{suffix}{labels} {number(value)}")
        if len(lines) >= AT_ONCE or monotonic() - began > _TURN_S:
            written.append("".join([f"{line}\n" for line in lines]).encode())
            lines = []
            yield None
            began = monotonic()
    written.append("".join([f"{line}\n" for line in lines]).encode())
    return b"".join(written)


def number(value: float) -> str:
    """``24198``, ``0.5``, ``+Inf``, ``Nan``."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "Nan"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.16g}"


@lru_cache(maxsize=256)
def _shown(bounds: tuple[float, ...]) -> tuple[str, ...]:
    return (*map(number, bounds), "+Inf")


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    names = sorted(labels, key=lambda name: (name in _LAST, name))
    return "{" + ",".join(f'{name}="{_quoted(labels[name])}"' for name in names) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


class Source(Protocol):
    def collect(self) -> Iterator[Family]: ...


class Exposition:
    """The text of a scrape: everything that has families, one after the other."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)

    def steps(self) -> Generator[None, None, bytes]:
        """The text, in slices for the event loop.

        What is counted meanwhile may be in one family and not in another: all samples of a model
        in one family (of a histogram above all) are of one moment, those of two families may be
        some turns of the loop apart. Each model that was READY at the first step is in all of its
        families, and no other.
        """
        return render(family for source in self._sources for family in source.collect())

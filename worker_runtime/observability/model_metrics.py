"""Metrics that models make themselves, next to the server's own in ``/metrics``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from worker_runtime.errors import AlreadyExists, InvalidArgument, NotFound
from worker_runtime.observability.metrics.text import Family

_KINDS = ("counter", "gauge", "histogram")


class MetricFamily(Protocol):
    """One name, with a metric for each set of label values."""

    kind: str  # counter, gauge or histogram

    def make(self, labels: Mapping[str, str], buckets: Sequence[float] | None) -> None: ...

    def change(self, labels: Mapping[str, str], what: str, value: float) -> None: ...

    def value(self, labels: Mapping[str, str]) -> float: ...

    def shown(self) -> Iterator[Family]: ...


class OwnMetrics:
    """A ``ModelMetrics``. prometheus_client locks each value, so any thread may call."""

    def __init__(self) -> None:
        self._families: dict[str, MetricFamily] = {}

    def family(self, name: str, text: str, kind: int) -> None:
        if not 0 <= kind < len(_KINDS):
            raise InvalidArgument(f"metric '{name}' has the unknown kind {kind}")
        known = self._families.get(name)
        if known is None:
            # why here: prometheus_client brings an HTTP server along, 25 ms for every start
            from worker_runtime.observability.own_family import OwnFamily  # noqa: PLC0415

            self._families[name] = OwnFamily(name, text, _KINDS[kind])
        elif known.kind != _KINDS[kind]:
            raise AlreadyExists(f"metric '{name}' is a {known.kind} already")

    def make(self, name: str, labels: Mapping[str, str], buckets: Sequence[float] | None) -> None:
        self._family(name).make(labels, buckets)

    def change(self, name: str, labels: Mapping[str, str], what: str, value: float) -> None:
        self._family(name).change(labels, what, value)

    def value(self, name: str, labels: Mapping[str, str]) -> float:
        return self._family(name).value(labels)

    def collect(self) -> Iterator[Family]:
        for family in list(self._families.values()):
            yield from family.shown()

    def _family(self, name: str) -> MetricFamily:
        family = self._families.get(name)
        if family is None:
            raise NotFound(f"metric family '{name}' does not exist")
        return family

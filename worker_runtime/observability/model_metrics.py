"""Metrics that models make themselves, next to the server's own in ``/metrics``."""

from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from worker_runtime.errors import AlreadyExists, InvalidArgument, NotFound, Unsupported

_KINDS = ("counter", "gauge", "histogram")
_DEFAULT_BUCKETS = Histogram.DEFAULT_BUCKETS


class _Family:
    """One name: its kind, and a metric for each set of label values.

    prometheus_client fixes the label names of a family; models may give each metric its own, so
    each set of label names is a family of its own in a registry of its own.
    """

    def __init__(self, name: str, text: str, kind: int) -> None:
        self.name = name
        self.text = text
        self.kind = kind
        self.registries: dict[tuple[str, ...], CollectorRegistry] = {}
        self.metrics: dict[tuple[tuple[str, str], ...], Counter | Gauge | Histogram] = {}
        self._parents: dict[tuple[str, ...], Counter | Gauge | Histogram] = {}

    def make(self, labels: Mapping[str, str], buckets: Sequence[float] | None) -> None:
        key = tuple(sorted(labels.items()))
        if key in self.metrics:
            return
        names = tuple(name for name, _ in key)
        parent = self._parents.get(names)
        if parent is None:
            registry = self.registries[names] = CollectorRegistry()
            parent = self._parents[names] = self._parent(names, buckets, registry)
        self.metrics[key] = parent.labels(**labels) if labels else parent

    def _parent(
        self, names: tuple[str, ...], buckets: Sequence[float] | None, registry: CollectorRegistry
    ) -> Counter | Gauge | Histogram:
        try:
            if self.kind == 2:
                bounds = tuple(buckets) if buckets is not None else _DEFAULT_BUCKETS
                return Histogram(self.name, self.text, names, registry=registry, buckets=bounds)
            made = Counter if self.kind == 0 else Gauge
            return made(self.name, self.text, names, registry=registry)
        except ValueError as error:
            raise InvalidArgument(f"metric '{self.name}': {error}") from error


def _without_creation(text: bytes) -> bytes:
    """Leave out the times at which metrics were made: nobody asked for them."""
    lines = text.splitlines(keepends=True)
    return b"".join(
        line for line in lines if b"_created" not in line.split(b"{")[0].split(b" ")[-1]
    )


class OwnMetrics:
    """A ``ModelMetrics``. prometheus_client locks each value, so any thread may call."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def family(self, name: str, text: str, kind: int) -> None:
        if not 0 <= kind < len(_KINDS):
            raise InvalidArgument(f"metric '{name}' has the unknown kind {kind}")
        known = self._families.get(name)
        if known is None:
            self._families[name] = _Family(name, text, kind)
        elif known.kind != kind:
            raise AlreadyExists(f"metric '{name}' is a {_KINDS[known.kind]} already")

    def make(self, name: str, labels: Mapping[str, str], buckets: Sequence[float] | None) -> None:
        self._family(name).make(labels, buckets)

    def change(self, name: str, labels: Mapping[str, str], what: str, value: float) -> None:
        metric = self._metric(name, labels)
        if what == "increment" and isinstance(metric, Counter):
            if value < 0:
                raise InvalidArgument(
                    "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by "
                    "non-negative values."
                )
            metric.inc(value)
        elif what == "increment" and isinstance(metric, Gauge):
            metric.inc(value)
        elif what == "set" and isinstance(metric, Gauge):
            metric.set(value)
        elif what == "observe" and isinstance(metric, Histogram):
            metric.observe(value)
        else:
            kind = _KINDS[self._family(name).kind].upper()
            raise Unsupported(
                f"TRITONSERVER_METRIC_KIND_{kind} does not support {what.capitalize()}"
            )

    def value(self, name: str, labels: Mapping[str, str]) -> float:
        metric = self._metric(name, labels)
        if isinstance(metric, Histogram):
            raise Unsupported("TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value")
        return float(metric._value.get())

    def text(self) -> bytes:
        """In Prometheus' text format."""
        parts = []
        for family in self._families.values():
            for registry in family.registries.values():
                text = generate_latest(registry)
                if family.kind == 0 and not family.name.endswith("_total"):
                    # The client library adds what Triton's names do not have.
                    name = family.name.encode()
                    text = text.replace(name + b"_total", name)
                parts.append(_without_creation(text))
        return b"".join(parts)

    def _family(self, name: str) -> _Family:
        family = self._families.get(name)
        if family is None:
            raise NotFound(f"metric family '{name}' does not exist")
        return family

    def _metric(self, name: str, labels: Mapping[str, str]) -> Counter | Gauge | Histogram:
        metric = self._family(name).metrics.get(tuple(sorted(labels.items())))
        if metric is None:
            raise NotFound(f"metric '{name}' with labels {dict(labels)} does not exist")
        return metric

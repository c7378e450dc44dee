"""Metrics that models make themselves, next to the server's own in ``/metrics``."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.samples import Sample

from worker_runtime.errors import AlreadyExists, InvalidArgument, NotFound, Unsupported
from worker_runtime.observability.metrics.text import Family, number, render

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

    def collect(self) -> Iterator[Family]:
        """The families as Triton writes them: counters keep their names, numbers are plain."""
        for family in list(self._families.values()):
            shown = Family(family.name, family.text, _KINDS[family.kind])
            for registry in list(family.registries.values()):
                for metric in registry.collect():
                    for sample in metric.samples:
                        self._add(shown, sample)
            yield shown

    def _add(self, shown: Family, sample: Sample) -> None:
        suffix = sample.name.removeprefix(shown.name)
        if suffix == "_created":  # nobody asked for it
            return
        labels = dict(sample.labels)
        if "le" in labels:
            labels["le"] = number(float(labels["le"]))
        # why: the client library ends the names of counters on _total, Triton does not.
        shown.add(labels, sample.value, "" if suffix == "_total" else suffix)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return render(self.collect())

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

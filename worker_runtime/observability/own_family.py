"""One family of metrics that a model makes, on prometheus_client: imported with the first."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.samples import Sample

from worker_runtime.errors import InvalidArgument, NotFound, Unsupported
from worker_runtime.observability.metrics.text import AT_ONCE, Family, Labels, number

_DEFAULT_BUCKETS = Histogram.DEFAULT_BUCKETS
_SLOWER = 8  # times, than reading a number of the server's own


class OwnFamily:
    """One name: its kind (counter, gauge or histogram), and a metric for each set of label values.

    prometheus_client fixes the label names of a family; models may give each metric its own, so
    each set of label names is a family of its own in a registry of its own.
    """

    def __init__(self, name: str, text: str, kind: str) -> None:
        self.name = name
        self.text = text
        self.kind = kind
        self._registries: dict[tuple[str, ...], CollectorRegistry] = {}
        self._metrics: dict[tuple[tuple[str, str], ...], Counter | Gauge | Histogram] = {}
        self._parents: dict[tuple[str, ...], Counter | Gauge | Histogram] = {}

    def make(self, labels: Mapping[str, str], buckets: Sequence[float] | None) -> None:
        key = tuple(sorted(labels.items()))
        if key in self._metrics:
            return
        names = tuple(name for name, _ in key)
        parent = self._parents.get(names)
        if parent is None:
            registry = self._registries[names] = CollectorRegistry()
            parent = self._parents[names] = self._parent(names, buckets, registry)
        self._metrics[key] = parent.labels(**labels) if labels else parent

    def _parent(
        self, names: tuple[str, ...], buckets: Sequence[float] | None, registry: CollectorRegistry
    ) -> Counter | Gauge | Histogram:
        try:
            if self.kind == "histogram":
                bounds = tuple(buckets) if buckets is not None else _DEFAULT_BUCKETS
                return Histogram(self.name, self.text, names, registry=registry, buckets=bounds)
            made = Counter if self.kind == "counter" else Gauge
            return made(self.name, self.text, names, registry=registry)
        except ValueError as error:
            raise InvalidArgument(f"metric '{self.name}': {error}") from error

    def change(self, labels: Mapping[str, str], what: str, value: float) -> None:
        metric = self._metric(labels)
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
            raise Unsupported(
                f"TRITONSERVER_METRIC_KIND_{self.kind.upper()} does not support {what.capitalize()}"
            )

    def value(self, labels: Mapping[str, str]) -> float:
        metric = self._metric(labels)
        if isinstance(metric, Histogram):
            raise Unsupported("TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value")
        return float(metric._value.get())

    def shown(self) -> Iterator[Family]:
        """As Triton writes it, in parts: counters keep their names, numbers are plain."""
        shown = Family(self.name, self.text, self.kind)
        for key, metric in list(self._metrics.items()):
            for found in metric.collect():
                for sample in found.samples:
                    _add(shown, dict(key), sample)
            if len(shown.samples) >= AT_ONCE // _SLOWER:
                yield shown
                shown = Family(self.name, self.text, self.kind)
        yield shown

    def _metric(self, labels: Mapping[str, str]) -> Counter | Gauge | Histogram:
        metric = self._metrics.get(tuple(sorted(labels.items())))
        if metric is None:
            raise NotFound(f"metric '{self.name}' with labels {dict(labels)} does not exist")
        return metric


def _add(shown: Family, key: Labels, sample: Sample) -> None:
    suffix = sample.name.removeprefix(shown.name)
    if suffix == "_created":  # nobody asked for it
        return
    labels = {**key, **sample.labels}
    if "le" in labels:
        labels["le"] = number(float(labels["le"]))
    # why: the client library ends the names of counters on _total, Triton does not.
    shown.add(labels, sample.value, "" if suffix == "_total" else suffix)

"""Every metric of the runtime, declared here; values are read from the statistics at scrape time.

Nothing is counted here, so a request costs no metric update, and the families of a model vanish
with it and start from zero when it is loaded again, as Triton's do.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import psutil
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_US = 1000
# The client library announces every counter as <name>_total; Triton's have no such suffix.
_SUFFIX = re.compile(rb"^(# (?:HELP|TYPE) nv_\w+)_total ", re.MULTILINE)
_LABELS = ("model", "version")

# name, help, attribute of the statistics, divisor (nanoseconds to microseconds)
COUNTERS = (
    (
        "nv_inference_request_success",
        "Number of successful inference requests, all batch sizes",
        "success_count",
        1,
    ),
    (
        "nv_inference_count",
        "Number of inferences performed (does not include cached requests)",
        "row_count",
        1,
    ),
    (
        "nv_inference_exec_count",
        "Number of model executions performed (does not include cached requests)",
        "execution_count",
        1,
    ),
    (
        "nv_inference_request_duration_us",
        "Cumulative inference request duration in microseconds (includes cached requests)",
        "success_ns",
        _US,
    ),
    (
        "nv_inference_queue_duration_us",
        "Cumulative inference queuing duration in microseconds (includes cached requests)",
        "queue_ns",
        _US,
    ),
    (
        "nv_inference_compute_input_duration_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
        "input_ns",
        _US,
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
        "infer_ns",
        _US,
    ),
    (
        "nv_inference_compute_output_duration_us",
        "Cumulative inference compute output duration in microseconds "
        "(does not include cached requests)",
        "output_ns",
        _US,
    ),
)
FAILURE = ("nv_inference_request_failure", "Number of failed inference requests, all batch sizes")
PENDING = (
    "nv_inference_pending_request_count",
    "Instantaneous number of pending requests awaiting execution per-model.",
)
LOAD = ("nv_model_load_duration_secs", "Model load time in seconds")
BATCH_SIZE = ("shoal_inference_batch_size", "Number of model executions by batch size (rows)")
CPU = ("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]")
MEMORY_TOTAL = ("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes")
MEMORY_USED = ("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes")


class Scheduled(Protocol):
    @property
    def pending(self) -> int: ...


class ModelSource(Protocol):
    """What is read of a model version; ``statistics`` has the attributes of COUNTERS."""

    name: str
    version: int
    statistics: Any

    @property
    def scheduler(self) -> Scheduled: ...


class RuntimeCollector(Collector):
    """Families from the statistics of the models that are READY now."""

    def __init__(self, models: Callable[[], Iterable[ModelSource]], *, cpu: bool = True) -> None:
        self._models = models
        self._cpu = cpu

    def collect(self) -> Iterator[Metric]:
        models = [(m, (m.name, str(m.version))) for m in self._models()]
        for name, text, attribute, divisor in COUNTERS:
            family = _Counter(name, text)
            for model, labels in models:
                family.add(labels, getattr(model.statistics, attribute) / divisor)
            yield family
        failure = _Counter(*FAILURE, extra=("reason",))
        batches = CounterMetricFamily(*BATCH_SIZE, labels=(*_LABELS, "batch_size"))
        pending = GaugeMetricFamily(*PENDING, labels=_LABELS)
        load = GaugeMetricFamily(*LOAD, labels=_LABELS)
        for model, labels in models:
            for reason, count in model.statistics.failures.items():
                failure.add((*labels, str(reason)), count)
            for size, batch in sorted(model.statistics.batches.items()):
                batches.add_metric((*labels, str(size)), batch.count)
            pending.add_metric(labels, model.scheduler.pending)
            load.add_metric(labels, model.statistics.load_duration_s)
        yield from (failure, batches, pending, load)
        if self._cpu:
            yield from self._host()

    def _host(self) -> Iterator[Metric]:
        memory = psutil.virtual_memory()
        yield GaugeMetricFamily(*CPU, value=psutil.cpu_percent() / 100)
        yield GaugeMetricFamily(*MEMORY_TOTAL, value=memory.total)
        yield GaugeMetricFamily(*MEMORY_USED, value=memory.total - memory.available)


class _Counter(Metric):
    """A counter under its exact name: the client library would append ``_total``."""

    def __init__(self, name: str, text: str, extra: tuple[str, ...] = ()) -> None:
        super().__init__(name, text, "counter")
        self._names = (*_LABELS, *extra)

    def add(self, labels: tuple[str, ...], value: float) -> None:
        self.add_sample(self.name, dict(zip(self._names, labels, strict=True)), value)


class Exposition:
    """The text of a scrape."""

    def __init__(self, models: Callable[[], Iterable[ModelSource]], *, cpu: bool = True) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(RuntimeCollector(models, cpu=cpu))

    def text(self) -> bytes:
        return _SUFFIX.sub(rb"\1 ", generate_latest(self._registry))

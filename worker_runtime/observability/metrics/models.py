"""The families of models, read from their statistics: they come and go with the models."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

from worker_runtime.observability.metrics.latency import (
    BOUNDS,
    FIRST_RESPONSE_FAMILY,
    PHASES,
    MetricsConfig,
    SlidingQuantiles,
)
from worker_runtime.observability.metrics.text import AT_ONCE, Family, Labels

_US = 1000
_S = 1e9

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
)
DURATIONS = (
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
CACHE = (
    (
        "nv_cache_num_hits_per_model",
        "Number of cache hits per model",
        "cache_hit_count",
        1,
    ),
    (
        "nv_cache_num_misses_per_model",
        "Number of cache misses per model",
        "cache_miss_count",
        1,
    ),
    (
        "nv_cache_hit_duration_per_model",
        "Total cache hit duration per model, in microseconds",
        "cache_hit_ns",
        _US,
    ),
    (
        "nv_cache_miss_duration_per_model",
        "Total cache miss (insert+lookup) duration per model, in microseconds",
        "cache_miss_ns",
        _US,
    ),
)
FAILURE = ("nv_inference_request_failure", "Number of failed inference requests, all batch sizes")
PENDING = (
    "nv_inference_pending_request_count",
    "Instantaneous number of pending requests awaiting execution per-model.",
)
LOAD = ("nv_model_load_duration_secs", "Model load time in seconds")
FIRST_RESPONSE = (
    FIRST_RESPONSE_FAMILY,
    "Duration from request to first response in milliseconds",
)
# by phase
SUMMARIES = {
    "request": (
        "nv_inference_request_summary_us",
        "Summary of inference request duration in microseconds (includes cached requests)",
    ),
    "queue": (
        "nv_inference_queue_summary_us",
        "Summary of inference queuing duration in microseconds (includes cached requests)",
    ),
    "compute_input": (
        "nv_inference_compute_input_summary_us",
        "Cumulative compute input duration in microseconds (does not include cached requests)",
    ),
    "compute_infer": (
        "nv_inference_compute_infer_summary_us",
        "Cumulative compute inference duration in microseconds (does not include cached requests)",
    ),
    "compute_output": (
        "nv_inference_compute_output_summary_us",
        "Cumulative inference compute output duration in microseconds "
        "(does not include cached requests)",
    ),
}
CACHE_SUMMARIES = {
    "cache_hit": (
        "nv_cache_hit_summary_per_model",
        "Summary of cache hit counts/durations per model, in microseconds",
    ),
    "cache_miss": (
        "nv_cache_miss_summary_per_model",
        "Summary of cache miss counts/durations per model, in microseconds.",
    ),
}
BATCH_SIZE = (
    "shoal_inference_batch_size_total",
    "Number of model executions by batch size (rows)",
)
BATCH_COMPUTE = (
    "shoal_inference_batch_compute_us_total",
    "Microseconds that executions spent in the model, by batch size (rows)",
)
BUSY = (
    "shoal_instance_busy_us_total",
    "Microseconds that instances spent on batches: making, executing and splitting them",
)
INSTANCES = ("shoal_model_instances", "Instances that execute batches of the model")
GPU_FULL = (
    "shoal_gpu_out_of_memory_total",
    "Number of model executions that failed because the memory of a GPU ran out",
)
ERROR_ANSWERS = (
    "shoal_error_answers_total",
    "Number of requests that the model answered with an error, which count as successful",
)
# of a model that calls others (BLS); label "callee"
CALLS = ("shoal_model_calls_total", "Number of calls of another model that have ended")
CALL_FAILURES = (
    "shoal_model_call_failures_total",
    "Number of calls of another model that were answered with an error",
)
CALL_DURATION = (
    "shoal_model_call_us_total",
    "Microseconds from calls of another model to their last answers",
)
LAST_CALL = (
    "shoal_model_last_call_timestamp_seconds",
    "Unix time at which the last call of another model ended",
)
STEP = ("shoal_model_is_step", "1 for a model that a loaded ensemble calls, 0 otherwise")
MEMORY = ("shoal_model_memory_bytes", "Memory of the model version, estimated when it was loaded")
PHASE_TEXTS = {
    "request": "Time from a request's arrival to its answer, in seconds",
    "queue": "Time that a request waited, in seconds",
    "compute_input": "Time to make a request's batch, in seconds",
    "compute_infer": "Time of a request's batch in the model, in seconds",
    "compute_output": "Time to check and split a request's batch of outputs, in seconds",
}
# attribute of the statistics with the sum of a phase
_SUMS = {
    "request": "success_ns",
    "queue": "queue_ns",
    "compute_input": "input_ns",
    "compute_infer": "infer_ns",
    "compute_output": "output_ns",
}


class Scheduled(Protocol):
    @property
    def pending(self) -> int: ...


class ModelSource(Protocol):
    """What is read of a model version; ``statistics`` has the attributes named above.

    ``metric_labels`` are those beside model and version: tags and namespace. ``cached``: it
    answers from the response cache.
    """

    name: str
    version: int
    statistics: Any
    cached: bool
    config: Any  # a ModelConfig

    @property
    def metric_labels(self) -> Mapping[str, str]: ...

    @property
    def scheduler(self) -> Scheduled: ...


Models = list[tuple[ModelSource, Labels]]
Add = Callable[[Family, ModelSource, Labels], None]


class ModelFamilies:
    """Families from the statistics of the models that are READY now."""

    def __init__(
        self, models: Callable[[], Iterable[ModelSource]], config: MetricsConfig | None = None
    ) -> None:
        self._models = models
        self._config = config or MetricsConfig()

    def collect(self) -> Iterator[Family]:
        models: Models = [
            (m, {"model": m.name, "version": str(m.version), **m.metric_labels})
            for m in self._models()
        ]
        success, *rest = COUNTERS
        yield from self._counter(success, models)
        yield from in_parts(Family(*FAILURE, "counter"), models, self._add_failures)
        for row in (*rest, *(DURATIONS if self._config.counters else ())):
            yield from self._counter(row, models)
        if self._config.counters:
            cached = [pair for pair in models if pair[0].cached]
            for row in CACHE:
                yield from self._counter(row, cached)
        yield from _gauges(models)
        yield from _own(models)
        yield from _latencies(models)
        yield from _calls(models)
        yield from in_parts(Family(*FIRST_RESPONSE, "histogram"), models, _add_first_response)
        if self._config.summaries:
            yield from self._summaries(models)

    def _counter(self, row: tuple[str, str, str, int], models: Models) -> Iterator[Family]:
        name, text, attribute, divisor = row

        def add(family: Family, model: ModelSource, labels: Labels) -> None:
            # why 0 without counters: in Triton they are shown then, and stand still.
            value = getattr(model.statistics, attribute) if self._config.counters else 0
            family.add(labels, value // divisor)

        return in_parts(Family(name, text, "counter"), models, add)

    def _add_failures(self, family: Family, model: ModelSource, labels: Labels) -> None:
        for reason, count in sorted(model.statistics.failures.items()):
            counted = count if self._config.counters else 0
            family.add({**labels, "reason": str(reason)}, counted)

    def _summaries(self, models: Models) -> Iterator[Family]:
        kept = [(m, labels) for m, labels in models if m.statistics.summaries is not None]
        for phase, row in SUMMARIES.items():
            # why not with the cache: as in Triton, where the figure would mislead.
            shown = [pair for pair in kept if phase != "request" or not pair[0].cached]
            yield from self._summary(row, shown, partial(_phase, phase))
        cached = [pair for pair in kept if pair[0].cached]
        for attribute, row in CACHE_SUMMARIES.items():
            yield from self._summary(row, cached, attrgetter(attribute))

    def _summary(
        self, row: tuple[str, str], models: Models, of: Callable[[Any], SlidingQuantiles]
    ) -> Iterator[Family]:
        def add(family: Family, model: ModelSource, labels: Labels) -> None:
            seen = of(model.statistics.summaries)
            quantiles = [quantile for quantile, _ in self._config.quantiles]
            values = zip(quantiles, seen.values(quantiles), strict=True)
            family.add_summary(labels, values, seen.count, seen.total)

        # why a model at a time: its quantiles may take a millisecond.
        return in_parts(Family(*row, "summary"), models, add, 1)


def _phase(phase: str, kept: Any) -> SlidingQuantiles:
    seen: SlidingQuantiles = kept.phases[phase]
    return seen


def in_parts(family: Family, models: Models, add: Add, at_once: int = AT_ONCE) -> Iterator[Family]:
    """What ``add`` tells of each model, ``at_once`` samples and the rest of a model in a part."""
    for model, labels in models:
        add(family, model, labels)
        if len(family.samples) >= at_once:
            yield family
            family = Family(family.name, family.text, family.kind)
    yield family


def _gauges(models: Models) -> Iterator[Family]:
    for row, value in (
        (PENDING, _waiting),
        (LOAD, lambda model: model.statistics.load_duration_s),
    ):
        yield from _plain(Family(*row, "gauge"), models, value)


def _waiting(model: ModelSource) -> int:
    """Requests in its queues: here, and in copies in other processes."""
    waiting: int = model.scheduler.pending + sum(model.statistics.elsewhere.values())
    return waiting


def _plain(family: Family, models: Models, value: Callable[[Any], float]) -> Iterator[Family]:
    """A sample for each model."""
    return in_parts(family, models, lambda part, m, labels: part.add(labels, value(m)))


def _own(models: Models) -> Iterator[Family]:
    """What Triton's users ask for and it does not have."""
    called = {s.model_name for m, _ in models for s in m.config.ensemble_scheduling.step}

    def batches(family: Family, model: ModelSource, labels: Labels) -> None:
        for size, batch in sorted(model.statistics.batches.items()):
            family.add({**labels, "batch_size": str(size)}, batch.count)

    def compute(family: Family, model: ModelSource, labels: Labels) -> None:
        for size, batch in sorted(model.statistics.batches.items()):
            family.add({**labels, "batch_size": str(size)}, batch.infer_ns // _US)

    def busy(model: ModelSource) -> Any:
        batches = model.statistics.batches.values()
        return sum([b.input_ns + b.infer_ns + b.output_ns for b in batches]) // _US

    def memory(family: Family, model: ModelSource, labels: Labels) -> None:
        for usage in model.statistics.memory:
            where = {"type": usage.kind, "id": str(usage.device)}
            family.add({**labels, **where}, usage.byte_size * model.statistics.copies)

    yield from in_parts(Family(*BATCH_SIZE, "counter"), models, batches)
    yield from in_parts(Family(*BATCH_COMPUTE, "counter"), models, compute)
    for row, kind, value in (
        (BUSY, "counter", busy),
        (INSTANCES, "gauge", lambda m: _instances(m.config) * m.statistics.copies),
        (STEP, "gauge", lambda model: int(model.name in called)),
        (GPU_FULL, "counter", lambda model: model.statistics.gpu_out_of_memory_count),
        (ERROR_ANSWERS, "counter", lambda model: model.statistics.error_answer_count),
    ):
        yield from _plain(Family(*row, kind), models, value)
    yield from in_parts(Family(*MEMORY, "gauge"), models, memory)


def _latencies(models: Models) -> Iterator[Family]:
    bounds = [bound / _S for bound in BOUNDS]
    for phase in PHASES:

        def add(family: Family, model: ModelSource, labels: Labels, of: str = phase) -> None:
            counts = getattr(model.statistics.latencies, of)
            total = getattr(model.statistics, _SUMS[of]) / _S
            family.add_histogram(labels, bounds, counts, total)

        family = Family(f"shoal_inference_{phase}_seconds", PHASE_TEXTS[phase], "histogram")
        yield from in_parts(family, models, add)


def _calls(models: Models) -> Iterator[Family]:
    for (name, text), kind, value in (
        (CALLS, "counter", lambda seen: seen.count),
        (CALL_FAILURES, "counter", lambda seen: seen.failed),
        (CALL_DURATION, "counter", lambda seen: seen.total_ns // _US),
        (LAST_CALL, "gauge", lambda seen: seen.last_ms / 1000),
    ):

        def add(family: Family, model: ModelSource, labels: Labels, of: Any = value) -> None:
            for callee, seen in sorted(model.statistics.calls.items()):
                family.add({**labels, "callee": callee}, of(seen))

        yield from in_parts(Family(name, text, kind), models, add)


def _instances(config: Any) -> int:
    """A group on GPUs has its count on each of them."""
    return sum(group.count * max(1, len(group.gpus)) for group in config.instance_group)


def _add_first_response(family: Family, model: ModelSource, labels: Labels) -> None:
    seen = model.statistics.first_response
    if seen is not None:
        family.add_histogram(labels, seen.bounds, seen.counts, seen.total)

"""The text of a scrape: Triton's names, labels and spellings, and what Prometheus reads of it."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.grpc.model_config_pb2 import ModelConfig

from tests.unit.worker_runtime.core.runtime_requests import request
from worker_runtime.core.statistics import (
    LONGEST_CALLEE,
    MOST_CALLEES,
    BatchCount,
    FailureReason,
    MemoryUsage,
    Statistics,
)
from worker_runtime.observability.metrics import text
from worker_runtime.observability.metrics.cache import CacheFamilies
from worker_runtime.observability.metrics.host import HostFamilies
from worker_runtime.observability.metrics.latency import (
    Histogram,
    MetricsConfig,
    SlidingQuantiles,
    Summaries,
)
from worker_runtime.observability.metrics.models import ModelFamilies
from worker_runtime.observability.metrics.text import Exposition, number
from worker_runtime.observability.model_metrics import OwnMetrics
from worker_runtime.protocols.slices import at_once

US, MS = 1_000, 1_000_000


@dataclass
class Queue:
    pending: int = 2


@dataclass
class Model:
    name: str = "m"
    version: int = 1
    statistics: Statistics = field(default_factory=Statistics)
    cached: bool = False
    config: ModelConfig = field(default_factory=ModelConfig)
    metric_labels: Mapping[str, str] = field(default_factory=dict)
    scheduler: Queue = field(default_factory=Queue)


def text_of(*models: Model, config: MetricsConfig | None = None) -> str:
    return at_once(Exposition([ModelFamilies(lambda: models, config)]).steps()).decode()


def families(text: str) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def worked() -> Model:
    """One batch of two requests with three rows, and one request alone."""
    model = Model()
    model.statistics.executed(
        requests=1,
        rows=1,
        arrived_sum=0,
        queued_sum=10 * US,
        times=(30 * US, 40 * US, 90 * US, 100 * US),
        now_ms=1,
    )
    return model


def test_counters_are_spelled_as_in_triton() -> None:
    text = text_of(worked())
    assert (
        "# HELP nv_inference_request_success Number of successful inference requests, all batch "
        "sizes\n# TYPE nv_inference_request_success counter\n"
        'nv_inference_request_success{model="m",version="1"} 1\n'
    ) in text
    for line in (
        'nv_inference_count{model="m",version="1"} 1',
        'nv_inference_exec_count{model="m",version="1"} 1',
        'nv_inference_request_duration_us{model="m",version="1"} 100',
        'nv_inference_queue_duration_us{model="m",version="1"} 20',
        'nv_inference_compute_input_duration_us{model="m",version="1"} 10',
        'nv_inference_compute_infer_duration_us{model="m",version="1"} 50',
        'nv_inference_compute_output_duration_us{model="m",version="1"} 10',
        'nv_inference_pending_request_count{model="m",version="1"} 2',
        'nv_inference_request_failure{model="m",reason="BACKEND",version="1"} 0',
    ):
        assert f"\n{line}\n" in text


def test_families_come_and_go_with_their_models() -> None:
    assert text_of() == ""
    assert 'nv_inference_count{model="m",version="1"} 0\n' in text_of(Model())


def test_all_reasons_of_failure_are_there_from_the_start() -> None:
    model = Model()
    model.statistics.failed(FailureReason.REJECTED, 5)
    samples = families(text_of(model))["nv_inference_request_failure"].samples
    assert {s.labels["reason"]: s.value for s in samples} == {
        "REJECTED": 1,
        "CANCELED": 0,
        "BACKEND": 0,
        "OTHER": 0,
    }


def test_tags_and_odd_names_are_labels() -> None:
    model = Model(name='a"b\\c', metric_labels={"_team": "x\ny", "namespace": "/r"})
    (sample,) = families(text_of(model))["nv_inference_count"].samples
    assert sample.labels == {
        "model": 'a"b\\c',
        "version": "1",
        "_team": "x\ny",
        "namespace": "/r",
    }


def test_every_phase_has_a_histogram() -> None:
    model = worked()
    first, second = request(at=1 * MS), request(at=2 * MS)
    first.arrived_ns, second.arrived_ns = 0, 1 * MS
    model.statistics.executed(
        requests=2,
        rows=3,
        arrived_sum=1 * MS,
        queued_sum=3 * MS,
        times=(4 * MS, 4 * MS, 9 * MS, 9 * MS),
        now_ms=2,
        each=[first, second],
    )
    found = families(text_of(model))
    whole = found["shoal_inference_request_seconds"]
    values = {(s.name.rpartition("_")[2], s.labels.get("le", "")): s.value for s in whole.samples}
    assert values["count", ""] == 3
    assert values["sum", ""] == pytest.approx(0.0171)
    buckets = {le: value for (kind, le), value in values.items() if kind == "bucket"}
    assert buckets["5e-05"] == 0
    assert buckets["0.0001"] == 1
    assert buckets["0.005"] == 1
    assert buckets["0.01"] == 3
    assert buckets["+Inf"] == 3
    queue = found["shoal_inference_queue_seconds"].samples
    assert [s.value for s in queue if s.name.endswith("_count")] == [3]
    infer = {
        s.labels.get("le"): s.value for s in found["shoal_inference_compute_infer_seconds"].samples
    }
    assert (infer["5e-05"], infer["0.002"], infer["0.005"]) == (1, 1, 3)
    sizes = found["shoal_inference_batch_size"].samples
    assert {s.labels["batch_size"]: s.value for s in sizes} == {"1": 1, "3": 1}
    compute = found["shoal_inference_batch_compute_us"].samples
    assert {s.labels["batch_size"] for s in compute} == {"1", "3"}
    (busy,) = found["shoal_instance_busy_us"].samples
    assert busy.value >= sum(s.value for s in compute) > 0


def test_instances_are_counted_and_steps_of_ensembles_known() -> None:
    whole = Model(name="whole")
    whole.config.ensemble_scheduling.step.add(model_name="part", model_version=-1)
    part = Model(name="part")
    part.config.instance_group.add(count=2, gpus=[0, 1])
    part.config.instance_group.add(count=1)
    found = families(text_of(whole, part))
    by_model = {
        name: {s.labels["model"]: s.value for s in found[name].samples}
        for name in ("shoal_model_instances", "shoal_model_is_step")
    }
    assert by_model["shoal_model_instances"] == {"whole": 0, "part": 5}
    assert by_model["shoal_model_is_step"] == {"whole": 0, "part": 1}


def test_without_counters_durations_go_and_counts_stand_still() -> None:
    text = text_of(worked(), config=MetricsConfig(counters=False))
    assert "duration" not in text.replace("load_duration", "").replace("durations", "")
    assert 'nv_inference_request_success{model="m",version="1"} 0' in text


def test_first_responses_are_whole_milliseconds_in_buckets_of_ones_own() -> None:
    assert "first_response" not in text_of(Model())
    model = Model()
    seen = model.statistics.first_response = Histogram((2.0, 100.0))
    for duration in (2 * MS + 999 * US, 3 * MS, 200 * MS):
        seen.observe_ns(duration)
    name, labels = "nv_inference_first_response_histogram_ms", 'model="m",version="1"'
    assert (
        f"# TYPE {name} histogram\n{name}_count{{{labels}}} 3\n{name}_sum{{{labels}}} 205\n"
        f'{name}_bucket{{{labels},le="2"}} 1\n{name}_bucket{{{labels},le="100"}} 2\n'
        f'{name}_bucket{{{labels},le="+Inf"}} 3\n'
    ) in text_of(model)


def test_summaries_are_there_when_asked_for() -> None:
    model = Model()
    model.statistics.summaries = Summaries()
    for end in (100, 200, 300):
        model.statistics.executed(
            requests=1,
            rows=1,
            arrived_sum=0,
            queued_sum=0,
            times=(0, 0, end * US, end * US),
            now_ms=1,
        )
    config = MetricsConfig(summaries=True, quantiles=((0.5, 0.05), (0.99, 0.001)))
    text = text_of(model, config=config)
    labels = 'model="m",version="1"'
    assert (
        "# TYPE nv_inference_request_summary_us summary\n"
        f"nv_inference_request_summary_us_count{{{labels}}} 3\n"
        f"nv_inference_request_summary_us_sum{{{labels}}} 600\n"
        f'nv_inference_request_summary_us{{{labels},quantile="0.5"}} 200\n'
        f'nv_inference_request_summary_us{{{labels},quantile="0.99"}} 300\n'
    ) in text
    model.cached = True
    text = text_of(model, config=config)
    assert "nv_inference_request_summary_us" not in text
    assert f'nv_cache_hit_summary_per_model{{{labels},quantile="0.5"}} Nan' in text
    assert "summary" not in text_of(model)


def test_the_cache_of_a_model_shows_only_where_it_is_on() -> None:
    model = Model()
    model.statistics.cache_hit(duration_ns=50 * US, queue_ns=1 * US, lookup_ns=7 * US)
    model.statistics.cache_missed(9 * US)
    assert "nv_cache" not in text_of(model)
    model.cached = True
    text = text_of(model)
    for name, value in (
        ("num_hits", 1),
        ("num_misses", 1),
        ("hit_duration", 7),
        ("miss_duration", 9),
    ):
        assert f'nv_cache_{name}_per_model{{model="m",version="1"}} {value}\n' in text
    assert 'nv_inference_count{model="m",version="1"} 0\n' in text


def test_memory_of_a_model() -> None:
    model = Model()
    model.statistics.memory = (MemoryUsage("CPU", 0, 1000), MemoryUsage("GPU", 1, 5))
    text = text_of(model)
    assert 'shoal_model_memory_bytes{id="0",model="m",type="CPU",version="1"} 1000\n' in text


def test_the_host_is_read_once_an_interval() -> None:
    now = [0.0]
    host = HostFamilies(2.0, clock=lambda: now[0])
    first = {f.name: f.samples[0][2] for f in host.collect()}
    assert first["nv_pinned_memory_pool_total_bytes"] == 0
    assert 0 < first["nv_cpu_memory_used_bytes"] < first["nv_cpu_memory_total_bytes"]
    assert 0 <= first["nv_cpu_utilization"] <= 1
    now[0] = 1.9
    assert {f.name: f.samples[0][2] for f in host.collect()} == first
    assert [f.name for f in HostFamilies(2.0, cpu=False).collect()] == [
        "nv_pinned_memory_pool_total_bytes",
        "nv_pinned_memory_pool_used_bytes",
    ]


def test_the_cache_as_a_whole() -> None:
    class Cache:
        byte_size, used_bytes, evictions = 1000, 250, 3
        hits, misses = 4, 5
        lookup_ns, insertion_ns = 6 * US, 7 * US

        def __len__(self) -> int:
            return 8

    found = {f.name: f.samples[0][2] for f in CacheFamilies(Cache()).collect()}
    assert found == {
        "nv_cache_util": 0.25,
        "nv_cache_num_entries": 8,
        "nv_cache_num_hits": 4,
        "nv_cache_num_misses": 5,
        "nv_cache_num_lookups": 9,
        "nv_cache_num_evictions": 3,
        "nv_cache_lookup_duration": 6,
        "nv_cache_insertion_duration": 7,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (0.0001220703125, "0.0001220703125"),
        (1e22, "1e+22"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "Nan"),
    ],
)
def test_numbers_are_written_as_in_triton(value: float, text: str) -> None:
    assert number(value) == text


def test_quantiles_forget_after_a_minute() -> None:
    now = [0.0]
    seen = SlidingQuantiles(lambda: now[0])
    for value in range(1, 101):
        seen.observe(value)
    assert (seen.value(0.5), seen.value(0.99), seen.value(1.0)) == (50, 99, 100)
    now[0] = 59.0
    seen.observe(1_000_000)
    assert seen.value(1.0) == pytest.approx(1_000_000, rel=0.008)
    now[0] = 61.0
    assert seen.value(0.01) == pytest.approx(1_000_000, rel=0.008)
    now[0] = 200.0
    assert number(seen.value(0.5)) == "Nan"
    assert (seen.count, seen.total) == (101, 5050 + 1_000_000)


def test_metrics_of_models_are_written_the_same_way() -> None:
    own = OwnMetrics()
    for kind, name in enumerate(("requests", "depth", "seconds")):
        own.family(name, f"the {name}", kind)
        own.make(name, {"model": "m", "a": "x"}, [0.5, 2])
    own.change("requests", {"model": "m", "a": "x"}, "increment", 3)
    own.change("depth", {"a": "x", "model": "m"}, "set", 2.5)
    own.change("seconds", {"model": "m", "a": "x"}, "observe", 1)
    labels = 'a="x",model="m"'
    assert at_once(Exposition([own]).steps()).decode().splitlines() == [
        "# HELP requests the requests",
        "# TYPE requests counter",
        f"requests{{{labels}}} 3",
        "# HELP depth the depth",
        "# TYPE depth gauge",
        f"depth{{{labels}}} 2.5",
        "# HELP seconds the seconds",
        "# TYPE seconds histogram",
        f'seconds_bucket{{{labels},le="0.5"}} 0',
        f'seconds_bucket{{{labels},le="2"}} 1',
        f'seconds_bucket{{{labels},le="+Inf"}} 1',
        f"seconds_count{{{labels}}} 1",
        f"seconds_sum{{{labels}}} 1",
    ]


def test_calls_of_other_models_are_counted_by_callee() -> None:
    assert "shoal_model_call" not in text_of(Model())
    model = Model()
    for failed, duration_ns, now_ms in ((False, 3 * MS, 5_000), (True, 2 * MS, 7_500)):
        model.statistics.called("b", failed=failed, duration_ns=duration_ns, now_ms=now_ms)
    model.statistics.called('a"', failed=False, duration_ns=0, now_ms=1)
    found = families(text_of(model))
    by_callee = {
        name: {s.labels["callee"]: s.value for s in found[name].samples if s.labels["model"] == "m"}
        for name in found
        if name.startswith(("shoal_model_call", "shoal_model_last"))
    }
    assert by_callee == {
        "shoal_model_calls": {"b": 2, 'a"': 1},
        "shoal_model_call_failures": {"b": 1, 'a"': 0},
        "shoal_model_call_us": {"b": 5_000, 'a"': 0},
        "shoal_model_last_call_timestamp_seconds": {"b": 7.5, 'a"': 0.001},
    }


def test_names_that_a_model_makes_up_do_not_fill_the_metrics() -> None:
    statistics = Statistics()
    for at in range(MOST_CALLEES + 1):
        statistics.called(f"m{at}", failed=True, duration_ns=1, now_ms=1)
    statistics.called("m0", failed=True, duration_ns=1, now_ms=1)
    assert len(statistics.calls) == MOST_CALLEES
    assert statistics.calls["m0"].count == 2
    other = Statistics()
    for name in ("m" * (LONGEST_CALLEE + 1), "a\nb"):
        other.called(name, failed=True, duration_ns=1, now_ms=1)
    assert not other.calls


def test_copies_in_other_processes_have_memory_instances_and_queues_of_their_own() -> None:
    model = worked()
    model.statistics.memory = (MemoryUsage("CPU", 0, 10),)
    model.config.instance_group.add(count=2)
    model.statistics.elsewhere = {100: 3, 101: 4}
    text = text_of(model)
    for line in (
        'nv_inference_pending_request_count{model="m",version="1"} 9',
        'shoal_model_instances{model="m",version="1"} 6',
        'shoal_model_memory_bytes{id="0",model="m",type="CPU",version="1"} 30',
    ):
        assert f"{line}\n" in text


MANY = 300  # models, with histograms of 25 lines for each of five phases


@pytest.fixture
def many() -> list[Model]:
    models = [Model(f"m{number}") for number in range(MANY)]
    for model in models:
        model.statistics.summaries = Summaries()
        for size in range(1, 9):
            model.statistics.batches[size] = BatchCount(size)
    return models


def told(steps: Generator[None, None, bytes], between: Callable[[], None]) -> str:
    """The text; ``between`` is called whenever the loop would turn."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            text: bytes = end.value
            return text.decode()
        between()


def test_many_models_are_told_of_in_slices(
    many: list[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number of lines at a time: all of a few hundred models took 30 ms and more."""
    written = 0

    def counted(value: float) -> str:
        nonlocal written
        written += 1
        return number(value)

    monkeypatch.setattr(text, "number", counted)
    steps = Exposition([ModelFamilies(lambda: many, MetricsConfig(summaries=True))]).steps()
    slices: list[int] = []

    def between() -> None:
        nonlocal written
        slices.append(written)
        written = 0

    found = told(steps, between)
    assert len(slices) > 40
    assert max(slices) <= 2 * text.AT_ONCE + 30
    assert families(found)["nv_inference_count"].samples[-1].labels["model"] == f"m{MANY - 1}"
    headed = [line for line in found.splitlines() if line.startswith("# TYPE ")]
    assert len(headed) == len(set(headed))


def test_one_scrape_is_of_the_models_that_there_were_at_its_beginning(many: list[Model]) -> None:
    """And the samples of a histogram are of one moment."""
    models = list(many)

    def work() -> None:
        models[:] = [Model("new"), *models[2:]]
        for model in many:
            model.statistics.latencies.request[0] += 1

    found = families(told(Exposition([ModelFamilies(lambda: models)]).steps(), work))
    for name in ("nv_inference_count", "shoal_inference_queue_seconds", "shoal_model_instances"):
        of = {sample.labels["model"] for sample in found[name].samples}
        assert of == {model.name for model in many}, name
    seen: dict[str, dict[str, float]] = {}
    for sample in found["shoal_inference_request_seconds"].samples:
        if sample.labels.get("le", "+Inf") == "+Inf":
            seen.setdefault(sample.labels["model"], {})[sample.name] = sample.value
    for values in seen.values():
        name = "shoal_inference_request_seconds"
        assert values[f"{name}_count"] == values[f"{name}_bucket"]
    assert len({tuple(values.values()) for values in seen.values()}) > 1


def test_metrics_of_a_model_s_own_are_told_in_slices() -> None:
    own = OwnMetrics()
    own.family("seconds", "the seconds", 2)
    for label in range(1000):
        own.make("seconds", {"a": str(label)}, [0.5, 2])
    parts = [len(family.samples) for family in own.collect()]
    assert sum(parts) == 5000
    assert max(parts) <= text.AT_ONCE

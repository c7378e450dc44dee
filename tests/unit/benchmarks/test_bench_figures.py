"""The benchmark's arithmetic: what it takes for the limit, and when a promise counts as kept."""

from itertools import pairwise

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from benchmarks import limit, payload_clients, payloads, report, repository, stalls
from benchmarks.limit import Limit, Way
from benchmarks.neighbours import Usage
from benchmarks.rounds import Row
from benchmarks.workloads import WORKLOADS, Workload

BY_KEY = {workload.key: workload for workload in WORKLOADS}


def row(key: str, protocol: str = "http", **figures: float) -> Row:
    known = {"ratio": 1.0, "cpu_us": 1.0, "failures": 0, **figures}
    rest = dict.fromkeys(
        ("per_second", "bare_per_second", "bare_cpu_us", "cpu_ratio", "p50_us", "p99_us",
         "mean_batch", "cores_of_others"), 1.0,
    )  # fmt: skip
    return Row(
        workload=key, title="", protocol=protocol, concurrency=8, generator="own", way="",
        rounds=[], **{**rest, **known},
    )  # fmt: skip


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.key)
def test_every_workload_has_a_config_that_triton_can_read(workload: Workload) -> None:
    text = repository._config(workload, workload.parts[0])
    config = text_format.Parse(text, model_config_pb2.ModelConfig())
    assert [tensor.name for tensor in config.input] == [tensor.name for tensor in workload.inputs]
    assert config.HasField("dynamic_batching") is workload.dynamic_batching
    assert max(workload.batches) <= config.max_batch_size


def test_the_steps_of_an_ensemble_follow_each_other() -> None:
    workload = BY_KEY["E3"]
    config = text_format.Parse(repository._ensemble(workload), model_config_pb2.ModelConfig())
    assert [tensor.name for tensor in config.output] == ["OUTPUT0", "OUTPUT1"]
    steps = config.ensemble_scheduling.step
    assert [step.model_name for step in steps] == list(workload.parts) == ["e3_1", "e3_2", "e3_3"]
    assert dict(steps[0].input_map) == {"INPUT0": "INPUT0", "INPUT1": "INPUT1"}
    for before, after in pairwise(steps):
        made = [before.output_map[name] for name in ("OUTPUT0", "OUTPUT1")]
        assert [after.input_map[name] for name in ("INPUT0", "INPUT1")] == made
    assert dict(steps[-1].output_map) == {"OUTPUT0": "OUTPUT0", "OUTPUT1": "OUTPUT1"}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.key)
def test_samples_are_the_same_every_time_and_within_bounds(workload: Workload) -> None:
    first, second = repository.sample(workload, 2), repository.sample(workload, 2)
    for tensor in workload.inputs:
        assert first[tensor.name].shape == (2, *tensor.shape)
        assert (first[tensor.name] == second[tensor.name]).all()
        assert first[tensor.name].max() < tensor.top


def test_the_fastest_way_in_the_better_of_two_passes_is_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes = iter([1.0, 2.0] * len(limit.ways(BY_KEY["M2"])))
    wanted = Way(1, 1, 8)

    def measure(_: Workload, way: Way, seconds: float) -> Limit:
        return Limit(next(passes) + (10.0 if way == wanted else 0.0), 1.0)

    monkeypatch.setattr(limit, "measure", measure)
    way, rates = limit.best(BY_KEY["M2"], 1.0)
    assert way == wanted
    assert len(rates) == len(limit.ways(BY_KEY["M2"]))


@pytest.mark.parametrize(("ratio", "kept"), [(0.9, True), (0.899, False)])
def test_a_ratio_is_promised_for_the_big_models(ratio: float, kept: bool) -> None:
    assert [verdict for verdict, _ in report.verdicts([row("M2", ratio=ratio)])] == [kept]


@pytest.mark.parametrize(("cpu_us", "kept"), [(80.0, True), (80.1, False)])
def test_cpu_is_promised_for_the_smallest_model_over_http(cpu_us: float, kept: bool) -> None:
    assert [verdict for verdict, _ in report.verdicts([row("M0", cpu_us=cpu_us)])] == [kept]
    assert report.verdicts([row("M0", "grpc", cpu_us=cpu_us)]) == []


@pytest.mark.parametrize(
    ("protocol", "cpu_us", "kept"),
    [("http", 60.0, True), ("http", 60.1, False), ("grpc", 70.0, True), ("grpc", 70.1, False)],
)
def test_cpu_is_promised_for_the_ensemble(protocol: str, cpu_us: float, kept: bool) -> None:
    assert [found for found, _ in report.verdicts([row("E3", protocol, cpu_us=cpu_us)])] == [kept]


def test_a_failed_request_is_a_missed_promise() -> None:
    assert [kept for kept, _ in report.verdicts([row("M1", failures=1)])] == [False]


def test_what_the_benchmark_used_itself_is_not_the_neighbours() -> None:
    before, after = Usage(at=0, machine_s=100, ours_s=10), Usage(at=2, machine_s=104, ours_s=13)
    assert before.cores_of_others_until(after) == 0.5


@pytest.mark.parametrize(("large_us", "kept"), [(32_000.0, True), (33_000.0, False)])
def test_a_byte_of_a_large_payload_may_cost_twice_one_of_4_mb(large_us: float, kept: bool) -> None:
    found = [
        payloads.Cost(protocol, size, 1, cpu_us, 1.0)
        for protocol in payload_clients.CLIENTS
        for size, cpu_us in ((1_000, 100.0), (4_000_000, 1_000.0), (64_000_000, large_us))
    ]
    assert [verdict for verdict, _ in payloads.verdicts(found)] == [kept] * 3


@pytest.mark.parametrize(("share", "bound"), [(0.5, 0.001), (0.99, 0.01), (0.999, float("inf"))])
def test_the_least_bound_of_a_histogram_that_so_many_are_below(share: float, bound: float) -> None:
    assert stalls.quantile({0.001: 980, 0.01: 998, float("inf"): 1000}, share) == bound


@pytest.mark.parametrize(
    ("p99_us", "lag_s", "kept"),
    [(800.0, 0.01, [True, True]), (801.0, 0.01, [True, False]), (800.0, 0.02, [False, True])],
)
def test_what_holds_up_the_loop_is_promised_to_be_little(
    p99_us: float, lag_s: float, kept: list[bool]
) -> None:
    alone = stalls.Seen(5_000.0, 200.0, 300.0, 0.001, {})
    beside = stalls.Seen(5_000.0, 300.0, p99_us, lag_s, {})
    assert [verdict for verdict, _ in stalls.verdicts(alone, beside)] == kept

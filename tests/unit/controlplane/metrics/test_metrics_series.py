"""The formulas of the live panels over samples."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.metrics import series, stored
from controlplane.metrics.counters import track
from controlplane.metrics.histogram import FIRST_US, GROWTH, merged, quantile_us
from controlplane.metrics.serializers import SERIES


def sample(
    at: float, replica: str = "r0", deployment: str = "blue", **model: Any
) -> dict[str, Any]:
    memory = model.pop("memory_bytes", 1000)
    return {
        "replica_id": replica,
        "deployment": deployment,
        "at": at,
        "memory_bytes": memory,
        "models": [{"model": "digits", "version": "1", **model}],
    }


def seen(at: float, requests: int, **changes: Any) -> dict[str, Any]:
    return {
        "deployment": "blue",
        "at": at,
        "interval_s": 0.5,
        "requests": requests,
        "status_classes": {},
        "histogram": {},
    } | changes


def value(
    key: str, replicas: list[dict[str, Any]], gateway: list[dict[str, Any]], t: float
) -> float | None:
    (found,) = series.values(series.sources(replicas, gateway), [key], t)
    return found


def rising(**per_second: float) -> list[dict[str, Any]]:
    """Samples every half second for ten seconds, counters rising steadily."""
    return [
        sample(at / 2, **{name: rate * at / 2 for name, rate in per_second.items()})
        for at in range(21)
    ]


@pytest.mark.parametrize(
    ("key", "rates", "expected"),
    [
        ("request_rate.blue", {"request_success": 100}, 100),
        ("inference_rate.blue", {"inference_count": 400}, 400),
        ("mean_batch.blue", {"inference_count": 400, "exec_count": 100}, 4),
        ("queue_us.blue", {"request_success": 10, "queue_duration_us": 2500}, 250),
        ("compute_infer_us.all", {"request_success": 10, "compute_infer_duration_us": 900}, 90),
        ("request_rate.green", {"request_success": 100}, None),
        ("queue_us.blue", {"queue_duration_us": 0}, None),
    ],
)
def test_rates_and_means(key: str, rates: dict[str, float], expected: float | None) -> None:
    found = value(key, rising(**rates), [], 10.0)
    assert found == (pytest.approx(expected) if expected is not None else None)


def test_failures_count_as_requests() -> None:
    samples = [
        sample(at, request_success=10 * at, request_failure={"OTHER": 5 * at, "REJECTED": at})
        for at in (0.0, 2.0)
    ]
    assert value("request_rate.blue", samples, [], 2.0) == pytest.approx(16)


def test_a_restart_counts_from_zero_and_never_backwards() -> None:
    counts = [100, 120, 5, 25]  # the process died between the second and the third
    samples = [sample(at, request_success=count) for at, count in enumerate(counts)]
    assert value("request_rate.blue", samples, [], 2.0) == pytest.approx((20 + 5) / 2)
    assert value("request_rate.blue", samples, [], 3.0) == pytest.approx((5 + 20) / 2)


def test_replicas_are_summed_and_a_lone_first_sample_is_no_rate() -> None:
    samples = [
        sample(8.0, "r0", request_success=0),
        sample(8.0, "r1", "green", request_success=1000),
        sample(10.0, "r0", request_success=20),
        sample(10.0, "r1", "green", request_success=1060),
        sample(10.0, "r2", request_success=9999),
    ]
    assert value("request_rate.all", samples, [], 10.0) == pytest.approx(10 + 30)
    assert value("request_rate.blue", samples, [], 10.0) == pytest.approx(10)
    assert value("request_rate.blue", samples[4:], [], 10.0) is None


def test_gauges_and_gaps() -> None:
    samples = rising(request_success=1)
    samples[-1]["models"][0]["pending_request_count"] = 7
    assert value("pending.blue", samples, [], 10.0) == 7
    assert value("memory_bytes.all", samples, [], 10.0) == 1000
    for key in ("pending.blue", "memory_bytes.blue", "request_rate.blue", "errors_5xx.blue"):
        assert value(key, samples, [], 17.0) is None


def test_of_several_replicas_the_slowest_load_is_told_and_memory_adds_up() -> None:
    samples = [
        sample(at / 2, replica, load_seconds=load)
        for at in range(21)
        for replica, load in (("r0", 2.0), ("r1", 7.5), ("r2", 0.0))
    ]
    assert value("load_seconds.blue", samples, [], 10.0) == 7.5
    assert value("load_seconds.all", samples, [], 10.0) == 7.5
    assert value("memory_bytes.blue", samples, [], 10.0) == 3000
    of = series.sources(samples, [])["blue"]
    data = stored.rolled(of, 0.0, 10.0)
    assert data is not None
    kept = data["gauge"]
    assert (kept["load_seconds"], kept["memory_bytes"]) == (7.5, 3000)


def test_batch_sizes_are_shares_of_executions_in_the_last_minute() -> None:
    samples = [
        sample(0.0, batch_counts={"1": 1000, "8": 0}),
        sample(61.0, batch_counts={"1": 1010, "8": 30}),
    ]
    by_deployment = series.sources(samples, [])
    assert series.batch_sizes(by_deployment["all"]) == {"1", "8"}
    assert series.values(by_deployment, ["batch.1.all", "batch.8.all"], 61.0) == [
        pytest.approx(0.25),
        pytest.approx(0.75),
    ]


def test_errors_as_clients_saw_them() -> None:
    gateway = [
        seen(9.0, 80, status_classes={"2xx": 80}),
        seen(9.5, 20, status_classes={"2xx": 10, "4xx": 6, "5xx": 4}),
        seen(3.0, 900, status_classes={"5xx": 900}),
    ]
    gateway.sort(key=lambda one: float(one["at"]))
    assert value("error_rate.blue", [], gateway, 10.0) == pytest.approx(0.1)
    assert value("errors_4xx.blue", [], gateway, 10.0) == pytest.approx(3)
    assert value("errors_5xx.all", [], gateway, 10.0) == pytest.approx(2)
    assert value("error_rate.blue", [], [], 10.0) is None
    assert value("errors_5xx.blue", rising(request_success=1), [], 10.0) == 0.0


def telling(every_s: float, gateway: str = "", *, since: float = 0.0) -> list[dict[str, Any]]:
    """What a gateway tells of ten answers a second in ten seconds, whole intervals alone."""
    ends = [since + every_s * number for number in range(1, int((10 - since) / every_s) + 1)]
    return [
        seen(at, round(1000 * every_s), interval_s=every_s, gateway=gateway, histogram={"9": 1})
        for at in ends
    ]


def known_at(t: float, gateways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Samples that have come by then: they take a third of a second."""
    return sorted((one for one in gateways if one["at"] <= t - 0.3), key=lambda one: one["at"])


@pytest.mark.parametrize("every_s", [0.5, 0.55, 1.97, 2.0, 2.03, 2.2])
@pytest.mark.parametrize("names", [("",), ("east", "west", "south")])
def test_steady_answers_have_a_steady_rate_at_any_moment(
    every_s: float, names: tuple[str, ...]
) -> None:
    """Whatever the intervals of gateways are, how they lie and how late they are told of."""
    gateways = [
        one
        for place, name in enumerate(names)
        for one in telling(every_s, name, since=every_s * place / len(names))
    ]
    for tenths in range(70, 100):
        t = tenths / 10
        of = series.sources([], known_at(t, gateways))
        (rate,) = series.values(of, ["answer_rate.all"], t, told=t - series.TOLD_AFTER_S)
        assert rate == pytest.approx(1000 * len(names), rel=0.01), t


def test_answers_end_soon_after_the_last_caller_and_none_is_counted_twice() -> None:
    gateway, replicas = telling(2.0), rising(request_success=7)

    def rate(t: float) -> float | None:
        of = series.sources(replicas, known_at(t, gateway))
        return series.values(of, ["answer_rate.all"], t, told=t - series.TOLD_AFTER_S)[0]

    assert rate(12.9) == pytest.approx(1000)  # what is not told yet may be as before
    assert rate(14.0) == pytest.approx(500)
    assert rate(15.1) == 0.0
    assert rate(17.0) is None  # nor is a replica sampled any more
    tiles = [value("answer_rate.all", [], gateway, t) or 0.0 for t in range(0, 16, 2)]
    assert sum(tiles) * 2 == pytest.approx(sum(one["requests"] for one in gateway))


def test_an_interval_that_was_long_counts_for_all_of_its_time() -> None:
    gateway = [seen(40.0, 300, interval_s=30.0)]
    assert value("answer_rate.all", [], gateway, 15.0) == pytest.approx(10)
    assert value("answer_rate.all", [], gateway, 40.0) == pytest.approx(10)
    assert value("answer_rate.all", [], gateway, 9.9) is None
    assert value("answer_rate.all", [], [seen(40.0, 8, interval_s=0.0)], 41.0) == pytest.approx(4)


def test_what_replicas_run_that_nobody_called_for_is_no_request_of_callers() -> None:
    swept = rising(request_success=5000)
    assert value("request_rate.all", swept, [], 10.0) == pytest.approx(5000)
    assert value("answer_rate.all", swept, [], 10.0) == 0.0
    refused = [seen(10.0, 9, deployment="", interval_s=2.0, status_classes={"4xx": 8, "3xx": 1})]
    assert value("answer_rate.all", swept, refused, 10.0) == pytest.approx(4.5)
    assert value("answer_rate.blue", swept, refused, 10.0) == 0.0


def test_a_coarse_series_misses_no_error_between_its_points() -> None:
    gateway = [seen(5.0, 36, status_classes={"5xx": 36})]
    (coarse,) = series.values(series.sources([], gateway), ["errors_5xx.all"], 36.0, step_s=36.0)
    assert coarse == pytest.approx(1)


@given(st.lists(st.floats(51, 50_000_000), min_size=1, max_size=200), st.floats(0.01, 1))
def test_a_quantile_is_off_by_less_than_a_bucket(latencies: list[float], q: float) -> None:
    parts: list[Mapping[str, int]] = [
        {str(math.floor(math.log(latency / FIRST_US, GROWTH))): 1} for latency in latencies
    ]
    exact = sorted(latencies)[max(0, math.ceil(q * len(latencies)) - 1)]
    found = quantile_us(merged(parts), q)
    assert found is not None
    assert exact / GROWTH**1.01 <= found <= exact * GROWTH**1.01


def test_quantiles_of_nothing_and_of_the_very_fast() -> None:
    assert quantile_us({}, 0.5) is None
    assert quantile_us({0: 0}, 0.5) is None
    assert quantile_us({-1: 4}, 0.5) == 25.0


def test_keys_are_stable() -> None:
    found = series.keys(["green", "blue"], ["16", "2"])
    assert found[0] == "request_rate.blue"
    assert found[-2:] == ["batch_us.2.all", "batch_us.16.all"]
    assert len(found) == 3 * len(series.METRICS) + 4


def test_a_model_that_appears_later_counts_from_its_first_sample() -> None:
    first = sample(0.0, request_success=5)
    second = sample(2.0, request_success=5)
    second["models"].append({"model": "late", "version": "1", "request_success": 50.0})
    made = track([first, second])
    assert made.increase("success", (0, 1)) == 0.0


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        pytest.param(1.0, 30.0, id="started a second ago: all 30 came in that second"),
        pytest.param(4.0, 7.5, id="as old as a fresh one may be"),
        pytest.param(4.1, None, id="older: it may have been sampled before"),
        pytest.param(0.0, None, id="its clock says that it starts now"),
        pytest.param(-1.0, None, id="its clock is wrong"),
    ],
)
def test_the_first_sample_of_a_fresh_replica_counts(age: float, expected: float | None) -> None:
    first = sample(100.0, request_success=30) | {"started_at": 100.0 - age}
    found = value("request_rate.blue", [first], [], 100.0)
    assert found == (pytest.approx(expected) if expected is not None else None)


def test_a_fresh_replica_goes_on_from_its_first_sample() -> None:
    samples = [
        sample(at, request_success=count) | {"started_at": 99.0}
        for at, count in ((100.0, 30), (102.0, 40), (104.0, 60))
    ]
    assert value("request_rate.blue", samples, [], 102.0) == pytest.approx(5)
    assert value("request_rate.blue", samples, [], 104.0) == pytest.approx(10)
    assert value("memory_bytes.blue", samples, [], 99.5) is None
    samples[2]["models"].append({"model": "late", "version": "1", "request_success": 8.0})
    made = track(samples)
    assert made.increase("success", (1, 2)) == 28.0
    assert made.increase("success", made.window(104.0, 60.0) or (0, 0)) == 68.0


def test_the_minute_of_a_fresh_replica_holds_its_first_sample() -> None:
    samples = [sample(59.0, request_success=30) | {"started_at": 57.0}]
    of = series.source([track(samples)])
    assert stored.rolled(of, 0.0, 60.0)["sums"] == {"success": 30.0}
    samples.append(sample(61.0, request_success=40) | {"started_at": 57.0})
    of = series.source([track(samples)])
    assert stored.rolled(of, 60.0, 120.0)["sums"] == {"success": 10.0}


def test_the_document_names_the_series_of_a_machine() -> None:
    gpu = {
        "index": 3,
        "utilization": 0.5,
        "memory_used_bytes": 1,
        "memory_total_bytes": 2,
        "temperature_c": 60,
        "power_w": 250,
    }
    found = series.host_gauges({"gpus": [gpu]})
    published = [name for name, about in SERIES.items() if about["measured"] == "node"]
    assert {name.format(index=3) for name in published} == set(found)


def test_what_a_gpu_does_not_tell_is_no_zero() -> None:
    mig = {
        "index": 0,
        "utilization": None,
        "memory_used_bytes": 1,
        "memory_total_bytes": 2,
        "power_w": None,
    }
    told = {name for name in series.host_gauges({"gpus": [mig]}) if name.startswith("gpu")}
    assert told == {"gpu0_memory", "gpu0_memory_total"}


def counting(times: list[float], rate: float = 100.0) -> list[dict[str, Any]]:
    """Samples two seconds apart of a replica that has answered a million requests, under these
    times of its node's clock."""
    answered = [1_000_000 + rate * 2 * number for number in range(len(times))]
    return [sample(at, request_success=done) for at, done in zip(times, answered, strict=True)]


BACK = [0.0, 2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize("by_s", [0.5, 1.9, 2.0, 3.0, 5.0, 60.0])
def test_a_clock_that_is_set_back_is_no_load(by_s: float) -> None:
    went_on = [10.0 + 2 * number - by_s for number in range(4)]
    samples = counting([*BACK, *went_on])
    rates = [value("request_rate.blue", samples[: len(BACK) + told + 1], [], at)
             for told, at in enumerate(went_on)]  # fmt: skip
    assert max(rate for rate in rates if rate is not None) < 500, "not a million"
    if by_s > 2.0:  # it came earlier than what was before it: how long that took, who knows
        assert rates[0] is None
    assert rates[-1] == pytest.approx(100)


def test_what_came_twice_or_late_is_counted_once() -> None:
    samples = counting([*BACK, 10.0])
    for came in (
        [*samples[:4], samples[3], *samples[4:]],
        [*samples[:3], *samples[4:], samples[3]],
    ):
        found = series.tracks(came)[("blue", "r0")]
        assert found.increase("success", found.all) == 1000
        assert value("request_rate.blue", came, [], 10.0) == pytest.approx(100)


def test_history_before_a_clock_was_set_back_is_kept() -> None:
    samples = counting([*BACK, 7.0, 9.0])
    assert value("request_rate.blue", samples, [], 6.0) == pytest.approx(100)

"""Roll-ups say what the samples said, and queries find them by scope, time and bucket."""

import itertools
from typing import Any

import pytest
from django.db import connections
from rest_framework.test import APIClient

from controlplane.metrics import selectors, series, services, stored
from controlplane.metrics.models import GatewaySample, NodeSample, ReplicaSample, RollUp
from controlplane.metrics.types import KEEP_ROLL_UPS_S, Scope
from tests.support.metric_samples import HOUR, START, gateway, replica, steady
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def values(found: selectors.History, key: str) -> list[float | None]:
    return found.v[found.keys.index(key)]


def test_minutes_hold_what_the_samples_said() -> None:
    steady(3)
    GatewaySample.objects.bulk_create([gateway(START + 30, 10, 5), gateway(START + 90, 40, 5)])
    assert services.roll_up(now=START + 200) == 4  # one sample ends the minute before
    assert services.roll_up(now=START + 200) == 0
    query = selectors.Query(START, START + 180, step_s=60)
    found = selectors.endpoint_history("digits", query, now=START + 200)
    assert found.resolution == "minutes"
    assert found.t == [START + 60, START + 120, START + 180]
    assert values(found, "request_rate.all") == pytest.approx([10, 10, 10])
    assert values(found, "inference_rate.blue") == pytest.approx([40, 40, 40])
    assert values(found, "mean_batch.all") == pytest.approx([4, 4, 4])
    assert values(found, "queue_share.all") == pytest.approx([0.1, 0.1, 0.1])
    assert values(found, "busy.all") == pytest.approx([0.05, 0.05, 0.05])
    assert values(found, "batch.4.all") == pytest.approx([1, 1, 1])
    assert values(found, "batch_us.4.all") == pytest.approx([300, 300, 300])
    assert values(found, "memory_bytes.blue") == pytest.approx([100, 100, 100])
    assert values(found, "error_rate.blue") == [pytest.approx(0.2), pytest.approx(0.2), None]
    p95 = values(found, "p95_us.all")
    assert p95[1] == pytest.approx(50 * 1.05**40.95)
    assert p95[2] is None


def test_what_gateways_answered_is_of_all_of_the_time_in_which_they_might_have() -> None:
    """An idle gateway says nothing: a minute without is one with no answers, not one less."""
    steady(10)
    GatewaySample.objects.bulk_create([gateway(START + 31, 10, 30), gateway(START + 61, 10, 60)])
    now = START + 700

    def rates(step_s: int) -> list[float | None]:
        query = selectors.Query(START, START + 600, step_s=step_s)
        found = selectors.endpoint_history("digits", query, now=now, metrics=["answer_rate"])
        assert found.keys == ["answer_rate.blue", "answer_rate.all"]
        return values(found, "answer_rate.all")

    services.roll_up(now=now)
    assert rates(60) == pytest.approx([0.5, 1.0, *[0.0] * 8])
    assert rates(600) == pytest.approx([90 / 360, 0.0])  # the first ends after six minutes
    fine = [rate or 0.0 for rate in rates(2)]
    assert sum(fine) * 2 == pytest.approx(90)
    # half of what was told at 61 s was in the bucket that ended with the minute
    assert fine[29] == pytest.approx(15)
    hour = stored.merged(
        [data for _, data in selectors.minutes(Scope("endpoint", "digits"), START, now) if data]
    )
    assert stored.value(hour, "answer_rate") == pytest.approx(90 / 600)
    assert stored.value(hour, "request_rate") == pytest.approx(10)


def test_the_newest_buckets_wait_until_gateways_have_told_of_them() -> None:
    steady(1)
    GatewaySample.objects.bulk_create(gateway(START + at, 10, 20) for at in range(2, 31, 2))
    now = START + 31.0

    def told(metric: str) -> list[float | None]:
        query = selectors.Query(START, now, step_s=2)
        found = selectors.endpoint_history("digits", query, now=now, metrics=[metric])
        assert found.t[-1] == START + 32
        return values(found, f"{metric}.all")[-4:]

    assert told("answer_rate") == [pytest.approx(10), pytest.approx(10), None, None]
    assert told("error_rate")[-2:] == [pytest.approx(0.05)] * 2  # a share of what is known


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(62.9, [10.0, None], id="the next minute: nobody has told of it"),
        pytest.param(64.5, [10.0, 10.0], id="of its first seconds"),
        pytest.param(76.5, [10.0, 10.0], id="of a quarter"),
        pytest.param(119.9, [10.0, 10.0], id="nearly whole"),
        pytest.param(123.1, [10.0, 10.0], id="whole, and not rolled up yet"),
    ],
)
def test_the_minute_that_is_not_over_has_the_rate_of_what_is_known_of_it(
    now: float, expected: list[float | None]
) -> None:
    steady(3)
    GatewaySample.objects.bulk_create(
        gateway(START + at, 10, 20) for at in range(1, int(now) + 1, 2)
    )
    query = selectors.Query(START, START + 120, step_s=60)
    found = selectors.endpoint_history("digits", query, now=START + now, metrics=["answer_rate"])
    assert found.resolution == "minutes"
    rates = values(found, "answer_rate.all")
    assert rates == [rate if rate is None else pytest.approx(rate, rel=0.02) for rate in expected]
    low = found.low[found.keys.index("answer_rate.all")]
    assert min(rate for rate in low if rate is not None) > 9


def test_merged_minutes_have_exact_quantiles_and_keep_the_peak() -> None:
    slow, quick = gateway(START + 30, 100, 1), gateway(START + 90, 10, 99)
    steady(1)
    ReplicaSample.objects.bulk_create(
        replica(START + 60 + at, 600 + (at - 30 if 30 < at <= 32 else 2 * (at > 32)) * 500)
        for at in range(2, 61, 2)
    )
    GatewaySample.objects.bulk_create([slow, quick])
    services.roll_up(now=START + 200)
    query = selectors.Query(START, START + 120, step_s=120)
    found = selectors.endpoint_history("digits", query, now=START + 200)
    (p99,) = values(found, "p99_us.all")[-1:]
    one_source = series.source((), [slow.data, quick.data])
    (exact,) = series.values({"all": one_source}, ["p99_us.all"], START + 120, step_s=120)
    assert p99 == pytest.approx(exact)
    rate = found.keys.index("request_rate.all")
    assert found.v[rate][-1] == pytest.approx((600 + 1000) / 120)
    assert found.high[rate][-1] == pytest.approx(1000 / 6, rel=1e-3)  # in one of the windows of 5 s
    assert found.low[rate][-1] == 0


def test_a_time_without_samples_is_a_gap() -> None:
    steady(1)
    steady(1, start=START + 180)
    services.roll_up(now=START + 400)
    query = selectors.Query(START, START + 240, step_s=60)
    found = selectors.endpoint_history("digits", query, now=START + 400)
    rates = values(found, "request_rate.all")
    assert [rate is None for rate in rates] == [False, True, True, False]


def test_minutes_become_hours_and_both_answer_alike() -> None:
    steady(61, start=HOUR)
    assert services.roll_up(now=HOUR + 61 * 60 + 11) == 62
    assert RollUp.objects.filter(span_s=3600).exists()
    assert not services.roll_up(now=HOUR + 61 * 60 + 11)
    week = selectors.Query(HOUR - 7 * 86_400, HOUR + 3600, step_s=3600)
    found = selectors.endpoint_history("digits", week, now=HOUR + 3700)
    assert found.resolution == "hours"
    assert values(found, "request_rate.all")[-1] == pytest.approx(10)
    assert len(found.t) <= 601


@pytest.mark.parametrize(
    ("range_s", "step_s", "resolution"),
    [
        (300, 2, "samples"),
        (3600, 10, "samples"),
        (6 * 3600, 60, "minutes"),
        (86_400, 300, "minutes"),
        (7 * 86_400, 3600, "hours"),
        (30 * 86_400, 7200, "hours"),
    ],
)
def test_buckets_fit_the_range(range_s: int, step_s: int, resolution: str) -> None:
    steady(1)
    query = selectors.Query(START + 60 - range_s, START + 60)
    found = selectors.endpoint_history("digits", query, now=START + 60)
    assert (found.step_s, found.resolution) == (step_s, resolution)
    assert len(found.t) <= selectors.POINTS + 1
    # what is not rolled up yet is there all the same
    assert any(rate is not None for rate in values(found, "request_rate.all"))


def test_raw_samples_keep_the_peak_of_a_bucket() -> None:
    ReplicaSample.objects.bulk_create(
        replica(START + at, 1000 if at > 1806 else 0) for at in range(1700, 1901, 2)
    )
    query = selectors.Query(START, START + 3600)
    found = selectors.endpoint_history("digits", query, now=START + 3600)
    rate = found.keys.index("request_rate.all")
    at = found.t.index(START + 1810)
    assert found.v[rate][at] == pytest.approx(100, rel=0.2)
    assert found.high[rate][at] == pytest.approx(200, rel=0.3)
    assert found.low[rate][at] == 0


def test_by_node_only_what_ran_there() -> None:
    steady(2)
    steady(2, replica="r1", node="n2", per_s=30.0)
    NodeSample.objects.bulk_create(
        NodeSample(node_id=name, node=name, at=START + at, data={"cpu_utilization": share})
        for (name, share), at in itertools.product((("n1", 0.25), ("n2", 0.5)), range(0, 121, 10))
    )
    services.roll_up(now=START + 200)
    query = selectors.Query(START, START + 120, step_s=60)
    whole = selectors.endpoint_history("digits", query, now=START + 200)
    assert values(whole, "request_rate.all") == pytest.approx([40, 40])
    assert values(whole, "host_cpu.node:n2") == pytest.approx([0.5, 0.5])
    there = selectors.endpoint_history("digits", query, node="n2", now=START + 200)
    assert values(there, "request_rate.blue") == pytest.approx([30, 30])
    assert "host_cpu.node:n1" not in there.keys


def test_a_node_that_has_it_all_needs_no_rows_of_its_own() -> None:
    steady(1)
    services.roll_up(now=START + 200)
    assert not RollUp.objects.filter(scope__contains="@").exists()
    query = selectors.Query(START, START + 60, step_s=60)
    there = selectors.endpoint_history("digits", query, node="n1", now=START + 200)
    assert values(there, "request_rate.all") == pytest.approx([10])
    elsewhere = selectors.endpoint_history("digits", query, node="n2", now=START + 200)
    assert values(elsewhere, "request_rate.all") == [None]


def test_by_model_and_machine_over_the_api(api: APIClient) -> None:
    steady(1)
    services.roll_up(now=START + 200)
    window = f"from={START}&to={START + 60}&step=60"
    answer = api.get(f"/api/v1/metrics/query?by=model&ids=digits&metrics=request_rate&{window}")
    assert answer.status_code == 200
    body = answer.json()
    assert body["keys"] == ["request_rate.model/digits"]
    assert body["v"] == [[pytest.approx(10)]]
    named = "by=deployment&ids=digits/blue&metrics=request_rate,batch"
    body = api.get(f"/api/v1/metrics/query?{named}&{window}").json()
    assert body["keys"] == ["request_rate.deployment/digits/blue", "batch.4.deployment/digits/blue"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("by=planet&ids=a&metrics=cpu", "by"),
        ("by=model&metrics=cpu", "ids"),
        ("by=model&ids=a&metrics=wishes", "metrics"),
        ("by=deployment&ids=a&metrics=cpu", "ids"),
        ("by=model&ids=a&metrics=cpu&from=10&to=5", "to"),
        ("by=model&ids=a&metrics=cpu&range=9999999", "range"),
    ],
)
def test_what_cannot_be_asked_is_said(api: APIClient, query: str, field: str) -> None:
    answer = api.get(f"/api/v1/metrics/query?{query}")
    assert answer.status_code == 400
    assert answer.json()["code"] == "BadArgument"
    assert field in answer.content.decode()


def test_old_roll_ups_go() -> None:
    now = START + KEEP_ROLL_UPS_S + 120
    RollUp.objects.create(scope="model/a", span_s=60, at=START, data={})
    RollUp.objects.create(scope="model/a", span_s=60, at=int(now), data={})
    services.prune(now=now)
    assert RollUp.objects.count() == 1


def test_an_ensemble_counts_once_and_its_steps_do_the_work() -> None:
    def sample(at: float, count: float) -> dict[str, Any]:
        whole = {"model": "whole", "version": "1", "request_success": count, "exec_count": count}
        part = {"request_success": count, "step": True, "instances": 1.0, "exec_count": count / 4}
        parts = [{"model": name, "version": "1", **part} for name in ("a", "b")]
        return {"replica_id": "r", "deployment": "blue", "at": at, "models": [whole, *parts]}

    by_deployment = series.sources([sample(0.0, 0), sample(2.0, 8)], [])
    found = series.values(by_deployment, ["request_rate.all"], 2.0)
    assert found == [pytest.approx(4)]
    (track,) = by_deployment["all"].tracks
    assert track.increase("executions", (0, 1)) == 4


def test_scopes_have_keys_of_their_own() -> None:
    scopes = [
        Scope("endpoint", "a"),
        Scope("endpoint", "a", node="n"),
        Scope("deployment", "a", "b"),
        Scope("deployment", "a", "b", "n"),
    ]
    assert [scope.key for scope in scopes] == [
        "endpoint/a",
        "endpoint/a@n",
        "deployment/a/b",
        "deployment/a/b@n",
    ]
    assert stored.columns([], [60.0, 120.0], 60.0) == [None, None]


@pytest.mark.parametrize("span_s", [600.0, 7200.0], ids=["samples", "roll-ups"])
def test_the_chart_of_an_endpoint_reads_nothing_of_other_nodes(span_s: float) -> None:
    now = START + 120.0
    ReplicaSample.objects.bulk_create(replica(START + at, at) for at in range(0, 120, 2))
    query = selectors.Query(start=now - span_s, end=now)

    def read() -> int:
        with rows_read("metrics") as found:
            assert selectors.endpoint_history("digits", query, now=now).keys
        return found.rows

    NodeSample.objects.create(node_id="1", node="n1", at=now - 10, data={"cpu_utilization": 0.5})
    alone = read()
    for number in range(50):
        NodeSample.objects.create(
            node_id=f"x{number}", node=f"x{number}", at=now - 10, data={"cpu_utilization": 0.5}
        )
    assert read() == alone
    scope = Scope("node", "n1")
    with rows_read("metrics") as found:
        selectors.scope_history([scope], ["node_cpu"], query, now=now)
    assert found.rows <= 2, "of its own samples alone, however many replicas there are"


def test_postgresql_finds_scopes_by_how_they_begin() -> None:
    connection = connections["metrics"]
    if connection.vendor != "postgresql":
        pytest.skip("SQLite scans: it is for one machine")
    rows = RollUp.objects.filter(scope__startswith="deployment/digits/").order_by()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = rows.explain()
    assert "roll_up_by_prefix" in plan
    assert "Index Cond" in plan, plan

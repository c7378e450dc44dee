"""Samples and log lines over the agents' API, and what is read back."""

import time
from dataclasses import replace

import pytest
from rest_framework.test import APIClient

from controlplane.metrics import selectors, services
from controlplane.metrics.models import LogLine, ReplicaSample, Watch
from controlplane.metrics.services import keeping
from controlplane.metrics.types import KEEP_SAMPLES_S
from tests.support.placed_replicas import replica_place
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import NodeReport, ReportReply
from wire.samples import (
    GatewaySample,
    GatewaySampleBatch,
    LogBatch,
    LogEntry,
    ModelCounters,
    SampleBatch,
)
from wire.samples import ReplicaSample as WireSample

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def placed() -> SimulatedNode:
    """A node with the replica r0."""
    node = SimulatedNode()
    replica_place(node.row())
    return node


def line(seq: int, text: str = "hello") -> LogEntry:
    return LogEntry("r0", "digits", "blue", float(seq), "inference-server", text, seq)


def counted(at: float, requests: float) -> WireSample:
    counters = ModelCounters("digits", "1", request_success=requests, batch_counts={"4": requests})
    return WireSample("r0", "digits", "blue", at, models=(counters,), memory_bytes=77)


def test_samples_of_nodes_and_gateways_become_series() -> None:
    node = placed()
    now = time.time()
    batch = SampleBatch(samples=(counted(now - 3, 10), counted(now - 1, 50)), node=node.info)
    assert node.post("samples", batch).status_code == 200
    seen = GatewaySample("digits", "blue", now - 1, 2.0, 40, {"2xx": 40}, {"10": 40})
    services.gateway_samples_ingest(GatewaySampleBatch((seen,)))

    keys = selectors.live_keys("digits")
    ticked, found = selectors.Following("digits").tick(time.time())
    assert ticked == keys
    by_key = dict(zip(keys, found, strict=True))
    assert by_key["request_rate.blue"] == pytest.approx(20)
    assert by_key["memory_bytes.all"] == 77
    assert by_key["p95_us.blue"] == pytest.approx(50 * 1.05**10.95)
    assert by_key["batch.4.all"] == 1.0
    columns = selectors.live_series("digits", 60)
    assert columns.keys == keys
    assert len(columns.t) == 120
    assert [len(column) for column in columns.v] == [120] * len(keys)
    rates = columns.v[keys.index("request_rate.blue")]
    assert pytest.approx(20) in [rate for rate in rates if rate is not None]
    live = selectors.live_now(["digits", "other"], now)
    assert live["digits"]["error_rate"] == 0.0
    assert live["digits"]["answer_rate"] == pytest.approx(20)
    assert set(live["other"].values()) == {None}


def test_an_endpoint_without_a_replica_still_fails_its_callers() -> None:
    now = time.time()
    seen = GatewaySample("digits", "blue", now - 1, 2.0, 10, {"5xx": 10}, {"10": 10})
    services.gateway_samples_ingest(GatewaySampleBatch((seen,)))
    live = selectors.live_now(["digits"], now)["digits"]
    assert live["p95_us"] is not None
    assert (live["answer_rate"], live["error_rate"]) == (pytest.approx(5), 1.0)


def test_an_endpoint_that_nobody_calls_has_no_requests_whatever_its_replicas_ran() -> None:
    """An agent warms each model up; its replica then counts a request in the first seconds."""
    now = time.time()
    fresh = replace(counted(now - 0.5, 1), started_at=now - 2.29)
    assert placed().post("samples", SampleBatch(samples=(fresh,))).status_code == 200
    keys = selectors.live_keys("digits", now)
    _, ticked = selectors.Following("digits").tick(now)
    by_key = dict(zip(keys, ticked, strict=True))
    assert by_key["request_rate.all"] == pytest.approx(1 / 1.79)
    assert (by_key["answer_rate.all"], by_key["answer_rate.blue"]) == (0.0, 0.0)
    live = selectors.live_now(["digits"], now)["digits"]
    assert live == {"answer_rate": 0.0, "p95_us": None, "error_rate": None}


def test_samples_say_which_gateway_counted() -> None:
    at = time.time() - 1
    sample = GatewaySample("digits", "blue", at, 2.0, 20, {"2xx": 20})
    services.gateway_samples_ingest(GatewaySampleBatch((sample,)), "east")
    earlier = replace(sample, at=at - 1.5)
    services.gateway_samples_ingest(GatewaySampleBatch((earlier,)), "west")
    # why 20: each counted ten a second, west until a while ago
    assert selectors.live_now(["digits"], at + 0.4)["digits"]["answer_rate"] == pytest.approx(20)


def test_a_snapshot_has_the_columns_of_the_ticks_that_follow() -> None:
    """Batches that were executed before the ticks' window, and within the snapshot's."""
    now = time.time()
    samples = [counted(now - ago, requests) for ago, requests in ((200, 10), (150, 50), (1, 50))]
    assert placed().post("samples", SampleBatch(samples=tuple(samples))).status_code == 200
    assert selectors.live_series("digits", 300).keys == selectors.live_keys("digits")


def test_a_long_range_has_few_points() -> None:
    assert len(selectors.live_series("digits", 6 * 3600).t) == selectors.POINTS


def test_watching_an_endpoint_makes_agents_sample_faster() -> None:
    node = placed()

    def interval() -> float:
        answer = node.post("samples", SampleBatch(samples=(counted(1.0, 1),)))
        return codec.decode(ReportReply, answer.content).sample_interval_s

    assert interval() == 2.0
    services.watch("other")
    assert interval() == 2.0
    services.watch("digits")
    services.watch("digits")
    assert interval() == 0.5
    Watch.objects.update(expires_at=time.time() - 1)
    assert interval() == 2.0


def test_log_lines_come_once_and_in_order() -> None:
    node = placed()
    entries = (line(1, "one"), line(2, "nul\x00byte"))
    node.post("logs", LogBatch(entries))
    assert node.post("logs", LogBatch((*entries, line(3, "three")))).status_code == 200
    lines = selectors.log_lines(endpoint="digits", deployment="blue", tail=2).lines
    assert [entry.text for entry in lines] == ["nul\ufffdbyte", "three"]
    after = selectors.log_lines(
        endpoint="digits", deployment="blue", tail=9, after=lines[0].id
    ).lines
    assert [entry.text for entry in after] == ["three"]
    mine = {"endpoint": "digits", "deployment": "blue"}
    earlier = selectors.log_lines(**mine, tail=9, before=lines[0].id).lines
    assert [entry.text for entry in earlier] == ["one"]
    assert not selectors.log_lines(
        endpoint="digits", deployment="blue", tail=9, replica_id="r1"
    ).lines


@pytest.mark.parametrize("ahead_s", [-120, 120])
def test_what_comes_from_a_wrong_clock_is_dated_by_ours(ahead_s: float) -> None:
    node = placed()
    now = time.time()
    theirs = now + ahead_s
    node.post("report", NodeReport(node.info, 0, sent_at=theirs))
    sample = replace(counted(theirs - 3, 10), started_at=theirs - 60)
    node.post("samples", SampleBatch((sample,)))
    node.post("logs", LogBatch((replace(line(1), at=theirs - 3),)))
    row = ReplicaSample.objects.get()
    moments = [row.at + 3, row.data["at"] + 3, row.data["started_at"] + 60]
    assert [*moments, LogLine.objects.get().at + 3] == pytest.approx([now] * 4, abs=4.0)


def test_nothing_is_dated_in_the_future() -> None:
    node = placed()
    far = time.time() + 1e9
    node.post("samples", SampleBatch((counted(far, 10),)))
    node.post("logs", LogBatch((replace(line(1), at=far),)))
    assert ReplicaSample.objects.get().at <= time.time()
    assert LogLine.objects.get().at <= time.time()


def test_old_samples_and_all_but_the_last_lines_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "KEEP_LOG_LINES", 3)
    services.logs_ingest(LogBatch(tuple(line(seq) for seq in range(10))))
    now = time.time()
    old = counted(now - KEEP_SAMPLES_S - 1, 1)
    services.samples_ingest(
        node_id="n", node="n1", batch=SampleBatch(samples=(old, counted(now, 1)))
    )
    services.prune(now=now)
    assert sorted(LogLine.objects.values_list("seq", flat=True)) == [7, 8, 9]
    assert ReplicaSample.objects.count() == 1


def test_the_api_of_nodes_is_for_nodes_alone(api: APIClient) -> None:
    assert api.post("/agent/v1/samples", {}, format="json").status_code == 401
    assert api.post("/agent/v1/logs", {}, format="json").status_code == 401
    node = SimulatedNode()
    answer = node.client.post("/agent/v1/samples", {"samples": [{}]}, format="json")
    assert answer.status_code == 400
    assert answer.json()["code"] == "BadMessage"
    assert "SampleBatch.samples[0].replica_id: missing" in answer.json()["detail"]

"""Lines of the access log become samples."""

import math
from pathlib import Path

import pytest

from controlplane.gateway import access_log
from controlplane.gateway.access_log import (
    BUCKET_GROWTH,
    FIRST_BUCKET_US,
    Entry,
    Sampler,
    Tail,
    bucket,
    parse,
)
from controlplane.gateway.names import cluster_name, deployment_of


def line(
    *,
    endpoint: str = "digits",
    cluster: str = "digits__blue__http",
    status: str = "200",
    grpc: str = "-",
    duration: str = "1500",
    details: str = "via_upstream",
    path: str = "/endpoints/digits/v2/models/m/infer",
    connection: str = "7",
    binary: str = "-",
) -> str:
    columns = ["1970-01-01T00:00:01.250Z", endpoint, cluster, "127.0.0.1:9001", "1", status, grpc]
    columns += [duration, "300", "40", "10", "20", "-", details, connection, binary]
    return "\t".join([*columns, "id", "POST", path]) + "\n"


def test_a_scoring_request_is_counted_for_its_deployment() -> None:
    assert parse(line()) == Entry(
        "digits", "blue", "2xx", 1500.0, 10, 20, 300.0, 40.0, "7", as_json=True,
        columns=line().rstrip("\n").split("\t"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("at", "began"),
    [("2026-11-28T03:17:34.258Z", 1795835854.258), ("1795835854.258123", 1795835854.258123)],
)
def test_when_a_request_began(at: str, began: float) -> None:
    """Also by the lines of connections that are older than an upgrade."""
    parsed = parse(line().replace("1970-01-01T00:00:01.250Z", at))
    assert parsed is not None
    assert parsed.began == pytest.approx(began, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "as_json"),
    [
        ({}, True),
        ({"binary": "120"}, False),
        ({"grpc": "0", "path": "/inference.GRPCInferenceService/ModelInfer"}, False),
    ],
)
def test_tensors_that_came_as_text(changes: dict[str, str], as_json: bool) -> None:
    entry = parse(line(**changes))
    assert entry is not None
    assert entry.as_json is as_json


def test_deployment_names_may_hold_dashes() -> None:
    entry = parse(line(endpoint="a-b", cluster="a-b__c-d__grpc", path="/x/ModelInfer"))
    assert entry is not None
    assert (entry.endpoint, entry.deployment) == ("a-b", "c-d")


def test_two_pairs_of_names_never_share_a_cluster() -> None:
    assert cluster_name("a--b", "c", "http") != cluster_name("a", "b--c", "http")
    assert deployment_of(cluster_name("a--b", "c--d", "http")) == "c--d"


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "/endpoints/digits/v2/health/ready"},
        {"path": "/endpoints/digits/v2/models/m/stats"},
        {"endpoint": "-"},
        {"duration": "fast"},
    ],
)
def test_what_charts_do_not_count(changes: dict[str, str]) -> None:
    assert parse(line(**changes)) is None


def test_a_line_cut_short_is_dropped() -> None:
    assert parse(line()[:30]) is None


@pytest.mark.parametrize(
    ("status", "grpc", "expected"),
    [
        ("200", "-", "2xx"),
        ("401", "-", "4xx"),
        ("503", "-", "5xx"),
        ("0", "-", "4xx"),
        ("200", "0", "2xx"),
        ("200", "3", "4xx"),
        ("200", "16", "4xx"),
        ("200", "13", "5xx"),
        ("200", "14", "5xx"),
    ],
)
def test_status_classes(status: str, grpc: str, expected: str) -> None:
    entry = parse(line(status=status, grpc=grpc))
    assert entry is not None
    assert entry.status_class == expected


def test_a_refused_key_counts_for_no_deployment() -> None:
    entry = parse(line(status="401", details="lua_response"))
    assert entry is not None
    assert entry.deployment == ""


def test_streams_are_counted_without_a_duration() -> None:
    entry = parse(line(path="/inference.GRPCInferenceService/ModelStreamInfer"))
    assert entry is not None
    assert entry.duration_us is None


@pytest.mark.parametrize("us", [0.0, 49.9, 50.0, 51.0, 1234.5, 60e6])
def test_buckets_hold_what_they_say(us: float) -> None:
    index = bucket(us)
    if us < FIRST_BUCKET_US:
        assert index == -1
    else:
        low = FIRST_BUCKET_US * BUCKET_GROWTH**index
        assert low <= us * (1 + 1e-9)
        assert us < low * BUCKET_GROWTH * (1 + 1e-9)
        assert index == math.floor(math.log(us / 50) / math.log(1.05))


def test_a_sampler_counts_per_deployment_and_starts_over() -> None:
    sampler = Sampler()
    for duration in (100.0, 100.0, None):
        sampler.add(Entry("digits", "blue", "2xx", duration, 1, 2))
    sampler.add(Entry("digits", "green", "5xx", 60.0, 1, 2))
    blue, green = sampler.take(at=5.0, interval_s=0.5)
    assert (blue.deployment, blue.requests, blue.status_classes) == ("blue", 3, {"2xx": 3})
    assert blue.histogram == {str(bucket(100.0)): 2}
    assert (blue.request_bytes, blue.response_bytes) == (3, 6)
    assert green.status_classes == {"5xx": 1}
    assert sampler.take(at=6.0, interval_s=1.0) == ()


def test_a_connection_is_new_once() -> None:
    sampler = Sampler()
    for connection in ("1", "1", "2"):
        sampler.add(Entry("digits", "blue", "2xx", 100.0, 1, 2, 30.0, 5.0, connection))
    (first,) = sampler.take(at=5.0, interval_s=0.5)
    assert (first.new_connections, first.json_requests, first.timed) == (2, 0, 3)
    assert (first.total_us, first.receive_us, first.send_us) == (300.0, 90.0, 15.0)
    sampler.add(Entry("digits", "blue", "2xx", None, 1, 2, connection="2", as_json=True))
    (second,) = sampler.take(at=6.0, interval_s=0.5)
    assert (second.new_connections, second.json_requests, second.timed) == (0, 1, 0)


def test_of_very_many_connections_those_of_late_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "MOST_CONNECTIONS", 2)
    sampler = Sampler()
    for connection in ("1", "2", "1", "3", "1", "2"):
        sampler.add(Entry("digits", "blue", "2xx", None, 1, 2, connection=connection))
    (sample,) = sampler.take(at=5.0, interval_s=0.5)
    assert sample.new_connections == 4, "2 was forgotten for 3"


def test_a_tail_reads_whole_lines_from_where_it_began(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("old\n")
    tail = Tail(log)
    with log.open("a") as out:
        out.write("one\ntw")
        out.flush()
        assert list(tail.lines()) == ["one"]
        out.write("o\n")
        out.flush()
        assert list(tail.lines()) == ["two"]
    tail.close()


def test_a_tail_follows_a_rotated_log_without_losing_lines(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("")
    tail = Tail(log)
    with log.open("a") as old:
        old.write("one\n")
        old.flush()
        tail.rotate()
        assert list(tail.lines()) == ["one"], "no new log yet: the old one is still read"
        old.write("two\n")
    log.write_text("three\n")
    assert list(tail.lines()) == ["two", "three"]
    tail.close()


def test_a_log_that_appears_later_is_read_from_its_start(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "access.log")
    assert list(tail.lines()) == []
    (tmp_path / "access.log").write_text("one\n")
    assert list(tail.lines()) == ["one"]
    tail.close()

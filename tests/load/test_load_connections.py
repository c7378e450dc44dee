"""1,000 connections and 10,000 queued requests: nothing is lost, refused wrongly, or kept."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.connections import OK, load, usage
from tests.support import builtin_models
from tests.support.runtime_process import Runtime, runtime, wait_until

QUEUED = 10_000
BATCHED = """
backend: "identity"
max_batch_size: 64
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
instance_group { count: 2 kind: KIND_CPU }
"""
BOUND = 100
BOUNDED = (
    BATCHED
    + "dynamic_batching { default_queue_policy { max_queue_size: 100 } }\n"
    + builtin_models.parameter("execute_delay_ms", "1500")
)


@pytest.fixture(autouse=True)
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def port_of(server: Runtime, protocol: str) -> int:
    return server.http_port if protocol == "http" else server.grpc_port


def pending(server: Runtime, model: str) -> float:
    lines = [
        line
        for line in server.metrics().splitlines()
        if line.startswith("nv_inference_pending_request_count") and f'"{model}"' in line
    ]
    return float(lines[0].rsplit(" ", 1)[1])


@pytest.mark.parametrize(
    ("protocol", "connections", "each"),
    [("http", 10_000, 1), ("grpc", 1_000, 10), ("grpc", 4, 2_500)],
)
async def test_ten_thousand_requests_wait_and_are_all_answered(
    protocol: str, connections: int, each: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < connections + 500:
        pytest.skip(f"this machine allows fewer than {connections} descriptors")
    monkeypatch.setenv("TRITONSERVER_DELAY_SCHEDULER", str(QUEUED))  # none runs before all wait
    root = tmp_path / "models"
    builtin_models.place(root, "held", BATCHED + "dynamic_batching { }\n")
    # why no limits: 2,500 calls wait on one connection, and all places may be needed.
    with runtime(root, "--grpc-max-concurrent-streams=0", "--max-connections=0") as server:
        before = usage(server.process.pid)
        assert await load(protocol, port_of(server, protocol), "held", connections, each) == {
            OK: QUEUED
        }
        peak = usage(server.process.pid)
        assert peak["mib"] - before["mib"] < 350  # 35 KiB a request and its connection
        # Once held, twice free: what is kept for 10,000 must not be kept again.
        for turn in (1, 2):
            outcomes = await load(
                protocol, port_of(server, protocol), "held", connections, each, turn * QUEUED
            )
            assert outcomes == {OK: QUEUED}
        after = usage(server.process.pid)
        assert after["mib"] - peak["mib"] < 100
        wait_until(
            lambda: usage(server.process.pid)["descriptors"] <= before["descriptors"] + 5,
            "the connections are closed",
        )
        (stats,) = server.json("v2/models/held/stats")[1]["model_stats"]
        assert stats["inference_stats"]["success"]["count"] == 3 * QUEUED
        assert stats["inference_stats"]["fail"]["count"] == 0
        assert pending(server, "held") == 0
        assert server.stop() == 0


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_a_thousand_connections_with_ten_requests_each(protocol: str, tmp_path: Path) -> None:
    root = tmp_path / "models"
    builtin_models.place(root, "open", BATCHED + "dynamic_batching { }\n")
    with runtime(root) as server:
        assert await load(protocol, port_of(server, protocol), "open", 1_000, 10) == {OK: QUEUED}
        (stats,) = server.json("v2/models/open/stats")[1]["model_stats"]
        assert stats["inference_stats"]["success"]["count"] == QUEUED


@pytest.mark.parametrize(
    ("protocol", "refusal"),
    [
        ("http", "503 [request id: {}] Exceeds maximum queue size"),
        ("grpc", "14 [request id: {}] Exceeds maximum queue size"),
    ],
)
async def test_what_does_not_fit_into_the_queue_is_refused_in_tritons_words(
    protocol: str, refusal: str, tmp_path: Path
) -> None:
    root = tmp_path / "models"
    builtin_models.place(root, "bounded", BOUNDED)
    with runtime(root) as server:
        outcomes = await load(protocol, port_of(server, protocol), "bounded", 1_000, 1)
        answered = outcomes.pop(OK)
        assert sum(outcomes.values()) == 1_000 - answered
        assert answered >= BOUND
        assert len(outcomes) >= 500
        assert all(outcomes[refusal.format(number)] for number in _numbers(outcomes))
        assert set(outcomes) == {refusal.format(number) for number in _numbers(outcomes)}
        # Afterwards everything is as before.
        assert (await load(protocol, port_of(server, protocol), "bounded", 10, 1)) == {OK: 10}
        assert pending(server, "bounded") == 0


def _numbers(outcomes: dict[str, int]) -> list[str]:
    return [text.partition("request id: ")[2].partition("]")[0] for text in outcomes]

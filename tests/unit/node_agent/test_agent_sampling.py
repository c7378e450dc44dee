"""Rounds of samples: how often, and what is read of what a runtime says."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from node_agent import sampler, sampling
from node_agent.fleet import Fleet
from node_agent.machine import Machine
from node_agent.sampling import RESTING_S, Sampling
from wire.messages import NodeInfo
from wire.samples import ModelCounters

TEXT = """# HELP nv_inference_request_success Number of successful inference requests
# TYPE nv_inference_request_success counter
nv_inference_request_success{{model="digits",version="1"}} {count}
# TYPE nv_cpu_utilization gauge
nv_cpu_utilization {load}
# TYPE shoal_loop_lag_seconds histogram
shoal_loop_lag_seconds_bucket{{le="0.001"}} {load}
shoal_loop_lag_seconds_count {load}
shoal_loop_lag_seconds_sum 0.{load}
"""


@dataclass
class Replicas:
    """A fleet that serves by numbers: ``metrics_port`` is what a runtime has counted."""

    counts: dict[str, int]
    told: list[tuple[ModelCounters, ...]] = field(default_factory=list)
    state: str = "ready"

    def observed(self) -> tuple[Any, ...]:
        return tuple(SimpleNamespace(state=self.state) for _ in self.counts)

    def serving(self) -> list[tuple[Any, Any]]:
        return [
            (
                SimpleNamespace(replica_id=name, endpoint="e", deployment="d"),
                SimpleNamespace(metrics_port=count, pid=0, started_at=1.0),
            )
            for name, count in self.counts.items()
        ]

    def sampled(self, replica_id: str, pid: int, models: tuple[ModelCounters, ...]) -> None:
        del replica_id, pid
        self.told.append(models)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were parsed; what a runtime says has another load each time."""
    texts: list[str] = []
    loads = iter(range(1000))
    parse = sampler.parse

    def counted(text: str) -> tuple[ModelCounters, ...]:
        texts.append(text)
        return parse(text)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.port == 500:
            raise httpx.ConnectError("away")
        if request.url.path == "/requests":
            return httpx.Response(200)
        return httpx.Response(200, text=TEXT.format(count=request.url.port, load=next(loads)))

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    monkeypatch.setattr(sampler, "parse", counted)
    monkeypatch.setattr(sampling.answers, "client", lambda _: client)
    return texts


def sampling_of(replicas: Replicas) -> Sampling:
    machine = SimpleNamespace(describe=lambda: NodeInfo(name="n", agent_version="1"))
    return Sampling(cast(Fleet, replicas), cast(Machine, machine))


async def test_what_is_as_before_is_not_parsed_and_rests(parsed: list[str]) -> None:
    replicas = Replicas({"r1": 7, "r2": 8})
    rounds = sampling_of(replicas)
    first = await rounds.round()
    assert rounds.rest_s(2.0) == 2.0
    again = await rounds.round()
    assert rounds.rest_s(2.0) == RESTING_S
    assert rounds.rest_s(0.5) == 0.5, "somebody watches"
    assert rounds.rest_s(60.0) == 60.0, "there are many nodes"
    replicas.state = "loading"
    assert rounds.rest_s(2.0) == 2.0, "its first requests count"
    replicas.state = "failed"
    assert rounds.rest_s(2.0) == RESTING_S
    assert first is not None
    assert again is not None
    assert [sample.models for sample in again.samples] == [one.models for one in first.samples]
    assert [sample.models[0].request_success for sample in again.samples] == [7, 8]
    assert len(parsed) == 2
    assert "nv_cpu_utilization" not in parsed[0]
    late = [(sample.loop_looks, sample.loop_late_s) for sample in again.samples]
    assert late == [(2, 0.2), (3, 0.3)], "which is no change"
    assert len(replicas.told) == 4
    replicas.counts["r2"] = 9
    assert await rounds.round() is not None
    assert rounds.rest_s(2.0) == 2.0
    assert len(parsed) == 3
    await rounds.close()


@pytest.mark.parametrize("counts", [{"r1": 7}, {"r1": 7, "r2": 500}, {"r1": 7, "r2": 8, "r3": 9}])
async def test_a_replica_that_comes_or_goes_is_a_change(
    parsed: list[str], counts: dict[str, int]
) -> None:
    del parsed
    replicas = Replicas({"r1": 7, "r2": 8})
    rounds = sampling_of(replicas)
    for _ in range(2):
        await rounds.round()
    replicas.counts = counts
    await rounds.round()
    assert rounds.rest_s(2.0) == 2.0
    await rounds.close()


async def test_a_line_break_in_a_name_is_no_line(parsed: list[str]) -> None:
    """Names are a model's: what Unicode calls a line break is none in Prometheus' text."""
    del parsed
    text = TEXT.format(count=1, load=1).replace("digits", "a\u2028nv_inference_count{")
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, text=text))
    )
    (model,) = sampler.parse((await sampler.scrape(client, "127.0.0.1", 1)).models)
    assert model.model == "a\u2028nv_inference_count{"
    await client.aclose()

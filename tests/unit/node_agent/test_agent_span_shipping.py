"""Spans from runtimes to a collector: bounded, each once, whose they are by the agent's word."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from node_agent import span_shipping
from node_agent.fleet import Fleet
from node_agent.span_shipping import MOST_ANSWERS, SpanShipping
from tests.support.otlp import Receiver, receiver

SILENT = 9
OF_THE_AGENT = {
    "service.name": "triton-inference-server",
    "shoal.endpoint": "e",
    "shoal.deployment": "d",
    "shoal.replica": "r1",
    "host.name": "node-a",
}


def spans(*names: str, **attributes: str) -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for key, value in attributes.items():
        group.resource.attributes.add(key=key).value.string_value = value
    for name in names:
        group.scope_spans.add().spans.add(name=name)
    return bytes(request.SerializeToString())


class Replicas:
    """A fleet of one, which tells of ``waiting``."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.asked = 0

    def serving(self) -> list[tuple[Any, Any]]:
        replica = SimpleNamespace(replica_id="r1", endpoint="e", deployment="d")
        return [(replica, SimpleNamespace(metrics_port=9))]

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/spans"
        self.asked += 1
        return httpx.Response(200, content=self.waiting.pop(0) if self.waiting else b"")


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch) -> Replicas:
    found = Replicas()
    client = httpx.AsyncClient(transport=httpx.MockTransport(found.answer))
    monkeypatch.setattr(span_shipping.answers, "client", lambda _: client)
    monkeypatch.setattr(span_shipping, "REST_S", 0.0)
    return found


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture
def shipping(replicas: Replicas, collector: Receiver) -> SpanShipping:
    return SpanShipping(cast(Fleet, replicas), collector.url, "node-a")


def names(collector: Receiver) -> list[str]:
    return [span.name for span in collector.spans]


async def test_a_replica_s_spans_are_sent_as_its_own(
    shipping: SpanShipping, replicas: Replicas, collector: Receiver
) -> None:
    replicas.waiting = [
        spans("InferRequest", "digits", **{"service.name": "payments", "shoal.endpoint": "other"}),
        spans("compute"),
    ]
    await shipping.run_once()
    assert names(collector) == ["InferRequest", "digits", "compute"]
    assert collector.resources == [OF_THE_AGENT, OF_THE_AGENT]
    await shipping.run_once()
    assert len(collector.spans) == 3
    await shipping.close()


async def test_what_is_none_is_left_out(
    shipping: SpanShipping, replicas: Replicas, collector: Receiver
) -> None:
    replicas.waiting = [b"\xff no protobuf", spans("a")]
    await shipping.run_once()
    assert names(collector) == []
    await shipping.run_once()
    assert names(collector) == ["a"], "the next answer counts"
    await shipping.close()


async def test_a_replica_that_never_ends_does_not_keep_the_others_waiting(
    shipping: SpanShipping, replicas: Replicas, collector: Receiver
) -> None:
    replicas.waiting = [spans("a") for _ in range(3 * MOST_ANSWERS)]
    await shipping.run_once()
    assert replicas.asked == MOST_ANSWERS == len(collector.spans)
    await shipping.close()


async def test_replicas_are_asked_at_a_time_and_a_silent_one_only_so_long(
    collector: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, told = asyncio.Barrier(2), set[int]()

    async def answer(request: httpx.Request) -> httpx.Response:
        port = request.url.port or 0
        if port == SILENT:
            await asyncio.Event().wait()
        if port in told:
            return httpx.Response(200)
        await together.wait()  # each answers once the other is asked, too
        told.add(port)
        return httpx.Response(200, content=spans(f"of {port}"))

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    monkeypatch.setattr(span_shipping.answers, "client", lambda _: client)
    monkeypatch.setattr(span_shipping, "REST_S", 0.0)
    monkeypatch.setattr(span_shipping, "TIMEOUT_S", 1.0)
    replica = SimpleNamespace(replica_id="r", endpoint="e", deployment="d")
    ports = [SimpleNamespace(metrics_port=port) for port in (SILENT, 1, 2)]
    fleet = SimpleNamespace(serving=lambda: [(replica, port) for port in ports])
    shipping = SpanShipping(cast(Fleet, fleet), collector.url, "node-a")
    await asyncio.wait_for(shipping.run_once(), 30)
    assert sorted(names(collector)) == ["of 1", "of 2"]
    await shipping.close()


@pytest.mark.parametrize("status", [503, 429])
async def test_a_collector_that_is_away_gets_them_later(
    status: int,
    shipping: SpanShipping,
    replicas: Replicas,
    collector: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector.status = status
    replicas.waiting = [spans("a"), spans("b")]
    await shipping.run_once()
    await shipping.run_once()
    assert names(collector) == []
    collector.status = 200
    await shipping.run_once()
    assert names(collector) == ["a", "b"]
    ours = [record for record in caplog.records if record.name == span_shipping.__name__]
    said = [record.getMessage() for record in ours]
    assert said == [
        f"The collector of spans at {collector.url}: it answers {status}",
        "The collector of spans takes them again",
    ], "once each"
    await shipping.close()


async def test_what_a_collector_refuses_does_not_stand_before_the_others(
    shipping: SpanShipping, replicas: Replicas, collector: Receiver
) -> None:
    collector.status = 400
    replicas.waiting = [spans("a"), spans("b")]
    await shipping.run_once()
    collector.status = 200
    replicas.waiting = [spans("c")]
    await shipping.run_once()
    assert names(collector) == ["c"]
    await shipping.close()


async def test_nobody_s_spans_fill_the_memory(
    replicas: Replicas, collector: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipping = SpanShipping(cast(Fleet, replicas), collector.url, "node-a")
    size = len(span_shipping.stamped(spans("0"), replicas.serving()[0][0], "node-a"))
    monkeypatch.setattr(span_shipping, "MOST_WAITING", 4 * size - 1)
    collector.status = 503
    for number in range(5):
        replicas.waiting = [spans(str(number))]
        await shipping.run_once()
    collector.status = 200
    await shipping.run_once()
    assert names(collector) == ["2", "3", "4"], "the latest"
    await shipping.close()


async def test_an_answer_does_not_grow_by_what_the_agent_says_of_it(
    shipping: SpanShipping, replicas: Replicas, collector: Receiver
) -> None:
    nothing = ExportTraceServiceRequest()
    for _ in range(1000):
        nothing.resource_spans.add()
    replicas.waiting = [nothing.SerializeToString() + spans("a") + spans("b")]
    await shipping.run_once()
    assert names(collector) == ["a", "b"]
    assert collector.resources == [OF_THE_AGENT]
    await shipping.close()

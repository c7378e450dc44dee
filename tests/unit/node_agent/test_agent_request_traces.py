"""Single requests from runtimes to the control plane: bounded, each once."""

import json
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from node_agent.request_traces import MOST, MOST_OF_ONE, RequestTraces
from wire.messages import DesiredReplica


def request_of(number: int, why: str = "slow", **more: Any) -> dict[str, Any]:
    span = {"model": "m", "version": 1, "parent": -1, "via": "", "start_us": 0, "total_us": 9}
    return {"number": number, "id": f"id-{number}", "why": why, "at": 1.0, "spans": [span], **more}


class Runtime:
    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.content: bytes | None = None

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.query.decode())
        if self.content is not None:
            return httpx.Response(200, content=self.content)
        after = int(request.url.params["after"])
        kept = [one for one in self.kept if one["number"] > after]
        return httpx.Response(200, content=json.dumps({"requests": kept}).encode())


async def look(
    traces: RequestTraces, runtime: Runtime, name: str = "r1", pid: int = 1, *, busy: bool = True
) -> None:
    replica = SimpleNamespace(replica_id=name, endpoint="e", deployment="d")
    async with httpx.AsyncClient(transport=httpx.MockTransport(runtime.answer)) as client:
        await traces.look(client, cast(DesiredReplica, replica), pid, 9, busy=busy)


async def test_each_is_taken_once_with_whose_it_is() -> None:
    traces, runtime = RequestTraces(), Runtime()
    traces.salt = 7
    runtime.kept = [request_of(1), request_of(2, replica_id="a stranger's")]
    await look(traces, runtime)
    found = traces.take({"r1"})
    assert [(one.id, one.replica_id, one.endpoint, one.deployment) for one in found] == [
        ("id-1", "r1", "e", "d"),
        ("id-2", "r1", "e", "d"),
    ]
    runtime.kept.append(request_of(3))
    await look(traces, runtime)
    assert [one.id for one in traces.take({"r1"})] == ["id-3"]
    assert runtime.asked == ["salt=7&after=0", "salt=7&after=2"]


async def test_another_process_counts_anew() -> None:
    traces, runtime = RequestTraces(), Runtime()
    runtime.kept = [request_of(5)]
    await look(traces, runtime)
    await look(traces, runtime, pid=2)
    assert runtime.asked == ["salt=0&after=0", "salt=0&after=0"]


async def test_who_had_no_requests_is_asked_seldom() -> None:
    traces, runtime = RequestTraces(), Runtime()
    for _ in range(5):
        await look(traces, runtime, busy=False)
    assert len(runtime.asked) == 1
    traces.take(set())
    await look(traces, runtime, busy=False)
    assert len(runtime.asked) == 2, "it was not served meanwhile"


async def test_what_is_too_many_is_left_out_and_failures_go_first() -> None:
    traces, runtime = RequestTraces(), Runtime()
    for replica in range(5):
        runtime.kept = [request_of(number, "sampled") for number in range(1, 50)]
        runtime.kept.append(request_of(50, "failed"))
        await look(traces, runtime, f"r{replica}")
    found = traces.take({"r0"})
    assert len(found) == MOST < 5 * MOST_OF_ONE
    assert [one.why for one in found[:6]] == ["failed"] * 5 + ["sampled"]


async def test_a_runtime_of_before_says_nothing() -> None:
    traces, runtime = RequestTraces(), Runtime()
    runtime.content = b""
    await look(traces, runtime)
    assert traces.take({"r1"}) == ()


@pytest.mark.parametrize("content", [b"[]", b"{}", b"{", b'{"requests": [{"id": 3}]}', b"\xff"])
async def test_an_answer_that_is_none(content: bytes) -> None:
    traces, runtime = RequestTraces(), Runtime()
    runtime.content = content
    with pytest.raises(ValueError, match="TracedRequests"):
        await look(traces, runtime)

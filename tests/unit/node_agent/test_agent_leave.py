"""Leaving: a node asks until nothing runs on it, whatever the control plane answers meanwhile."""

import httpx
import pytest

from node_agent import leave
from node_agent.client import ControlClient
from wire import codec
from wire.messages import LeaveReply, LeaveRequest


def left(count: int) -> httpx.Response:
    return httpx.Response(200, content=codec.encode(LeaveReply(count)))


async def outcome(*answers: httpx.Response, deadline_s: int = 30) -> tuple[bool, list[float], int]:
    """Whether it left, the pauses that it made, and how often it asked."""
    queue, asked, pauses = list(answers), [], [0.0]

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/agent/v1/leave"
        asked.append(codec.decode(LeaveRequest, request.content).deadline_s)
        return queue.pop(0) if len(queue) > 1 else queue[0]

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    client = ControlClient("http://control", transport=httpx.MockTransport(answer))
    done = await leave.leave(client, deadline_s=deadline_s, pause=pause, clock=lambda: sum(pauses))
    await client.close()
    assert set(asked) == {deadline_s}
    return done, pauses[1:], len(asked)


async def test_it_asks_until_nothing_is_left() -> None:
    done, pauses, asked = await outcome(left(2), left(1), left(0))
    assert (done, len(pauses), asked) == (True, 2, 3)


async def test_a_control_plane_that_is_away_is_asked_again() -> None:
    done, _, asked = await outcome(httpx.Response(502), left(1), httpx.Response(503), left(0))
    assert (done, asked) == (True, 4)


async def test_a_node_that_nobody_knows_has_left() -> None:
    done, _, asked = await outcome(httpx.Response(401, json={"detail": "unknown"}))
    assert (done, asked) == (True, 1)


async def test_what_does_not_end_is_given_up_after_the_deadline() -> None:
    done, pauses, _ = await outcome(left(1), deadline_s=5)
    assert not done
    assert sum(pauses) == pytest.approx(5 + leave.LATE_S, abs=leave.ASK_S)

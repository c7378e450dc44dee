"""What gateways know a call of the control plane by."""

import asyncio

import httpx
import pytest

from controlplane.console.inference import Call, InferenceFailed, Target, infer_http


@pytest.mark.parametrize("request_id", ["", "shoal-comparison.1.2.3"])
def test_a_call_has_the_request_id_that_it_was_given(request_id: str) -> None:
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("x-request-id"))
        return httpx.Response(503, stream=httpx.ByteStream(b"{}"))

    async def ask() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            target = Target("http://gateway", "digits", "key", "blue")
            call = Call(model="digits", inputs=(), request_id=request_id)
            with pytest.raises(InferenceFailed):
                await infer_http(client, target, call, 5.0)

    asyncio.run(ask())
    assert seen == [request_id or None]

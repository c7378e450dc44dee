"""The SDK in an event loop: the same objects as the blocking one, and the loop goes on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from shoal.aio import MLClient
from shoal.aio.bridge import run, until
from shoal.client.errors import ConnectionFailed, OperationFailed, Problem
from shoal.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint, Model
from tests.support.shoal_server import TOKEN, URL, FakeServer, cut


@pytest.fixture
async def ml_client(server: FakeServer) -> AsyncIterator[MLClient]:
    async with MLClient(url=URL, token=TOKEN, transport=httpx.MockTransport(server)) as client:
        yield client


@pytest.fixture
def models(tmp_path: Path) -> Path:
    file = tmp_path / "models" / "model_1" / "1" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"graph")
    return tmp_path / "models"


def blue(models: Path, endpoint: str = "net") -> ManagedOnlineDeployment:
    model = Model(name="net", path=models, type="triton_model")
    return ManagedOnlineDeployment(
        name="blue", endpoint_name=endpoint, model=model, instance_count=1
    )


async def test_from_a_folder_to_a_live_endpoint_and_away_again(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    endpoint = await (await ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")))
    assert endpoint.scoring_uri == "https://gateway.test/endpoints/net/"
    seen: list[str] = []
    poller = await ml_client.online_deployments.begin_create_or_update(
        blue(models), all_traffic=True
    )
    poller.on_progress(lambda operation: seen.append(operation["state"]))
    deployment = await poller.result()
    assert (deployment.provisioning_state, await poller.status()) == ("Succeeded", "Succeeded")
    assert seen[-1] == "Succeeded"
    assert poller.stages[0]["title"] == "Load"
    assert [item.name async for item in ml_client.online_endpoints.list()] == ["net"]
    assert [item.name async for item in ml_client.online_deployments.list("net")] == ["blue"]
    assert [item.version async for item in ml_client.models.list("net")] == ["1"]
    pause = await ml_client.online_deployments.begin_stop("blue", "net", force=True)
    assert (await pause.result()).shown["serving_state"] == "Stopped"
    await (await ml_client.online_deployments.begin_start("blue", "net")).result()
    await (await ml_client.online_deployments.begin_restart("blue", "net")).result()
    await (await ml_client.online_deployments.begin_rollback("blue", "net", 1)).result()
    keys = await ml_client.online_endpoints.get_keys("net")
    assert keys.primary_key == "net-1"  # type: ignore[union-attr]
    await (await ml_client.online_endpoints.begin_delete("net")).result()
    with pytest.raises(Problem) as refused:
        await ml_client.online_endpoints.get("net")
    assert refused.value.is_not_found and refused.value.hints


async def test_a_failed_operation_carries_code_and_hints(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    await (await ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net"))).result()
    server.operation_error = {"code": "ModelLoadFailed", "message": "no", "hints": ["Try."]}
    poller = await ml_client.online_deployments.begin_create_or_update(blue(models))
    with pytest.raises(OperationFailed) as failed:
        await poller
    assert (failed.value.code, failed.value.hints) == ("ModelLoadFailed", ("Try.",))


async def test_a_write_whose_answer_was_lost_is_sent_again_under_one_key(
    server: FakeServer,
) -> None:
    keys: list[str] = []
    lost = iter([True, False])

    def network(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            keys.append(request.headers["Idempotency-Key"])
            if next(lost):
                server(request)
                return cut(request)
        return (
            server(request) if len(keys) < 2 else httpx.Response(201, json=server.endpoints["net"])
        )

    async with MLClient(url=URL, token=TOKEN, transport=httpx.MockTransport(network)) as client:
        made = await (await client.begin_create_or_update(ManagedOnlineEndpoint(name="net")))
    assert made.name == "net"
    assert len(keys) == 2 and len(set(keys)) == 1


async def test_calls_run_side_by_side_and_the_loop_goes_on() -> None:
    """Twelve calls to a server that answers only once all twelve have arrived."""
    arrived, all_here = 0, asyncio.Event()

    async def network(request: httpx.Request) -> httpx.Response:
        nonlocal arrived
        arrived += 1
        if arrived == 12:
            all_here.set()
        await asyncio.wait_for(all_here.wait(), 10)
        body = {"title": "none", "code": "ResourceNotFound", "hints": [], "status": 404}
        return httpx.Response(404, json=body)

    async with MLClient(url=URL, token=TOKEN, transport=httpx.MockTransport(network)) as client:
        calls = (client.online_endpoints.get(f"e{number}") for number in range(12))
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Problem] * 12


async def test_a_cancelled_call_lets_go_of_its_request() -> None:
    ended, begun = asyncio.Event(), asyncio.Event()

    async def network(request: httpx.Request) -> httpx.Response:
        begun.set()
        try:
            return await asyncio.Event().wait()  # type: ignore[return-value]
        finally:
            ended.set()

    async with MLClient(url=URL, token=TOKEN, transport=httpx.MockTransport(network)) as client:
        call = asyncio.create_task(client.online_endpoints.get("net"))
        await asyncio.wait_for(begun.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert ended.is_set()


async def test_a_real_connection_that_is_refused_is_told_as_such() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with MLClient(url=f"http://127.0.0.1:{port}", token=TOKEN) as client:
        with pytest.raises(ConnectionFailed, match="does not answer"):
            await client.models.get("net")


async def test_waiting_outside_of_a_call_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"shoal\.aio"):
        until(asyncio.sleep(0))


async def test_what_is_raised_where_it_waits_comes_out_where_it_was_called() -> None:
    async def broken() -> None:
        raise KeyError("inside")

    def work() -> str:
        try:
            until(broken())
        except KeyError:
            until(asyncio.sleep(0))
            return "mended"
        return "not reached"

    assert await run(work) == "mended"

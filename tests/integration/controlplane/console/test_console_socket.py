"""The test console: from a browser's frame through Envoy to a real runtime, and back."""

import base64
import struct
from typing import Any

import pytest
from channels.db import database_sync_to_async
from conftest_console import MODEL, deployment_row, endpoint_row, user
from django.contrib.auth.models import AnonymousUser
from gateway_harness import Gateway
from socket_harness import Browser

from controlplane.accounts.models import User

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])


async def deployer_socket() -> Browser:
    person = await database_sync_to_async(user)()
    return await Browser.open("/ws/v1/console/digits", person)


def infer(**changes: Any) -> dict[str, Any]:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2.5, -3]}
    return {"op": "infer", "id": "c1", "model": MODEL, "inputs": [tensor], **changes}


async def test_metadata_is_the_running_servers_with_registered_labels(served: Gateway) -> None:
    socket = await deployer_socket()
    frame = await socket.ask({"op": "metadata"})
    assert frame["type"] == "metadata"
    (model,) = frame["models"]
    assert model["name"] == MODEL
    assert model["max_batch_size"] == 8
    assert model["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [3], "optional": False}]
    assert model["labels"] == {"y": ["a", "b", "c"]}
    await socket.leave()


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("deployment", [None, "blue"])
async def test_a_call_returns_outputs_stats_and_timing(
    served: Gateway, protocol: str, deployment: str | None
) -> None:
    socket = await deployer_socket()
    request = infer(protocol=protocol, **({"deployment": deployment} if deployment else {}))
    assert await socket.ask(request) == {"type": "accepted", "id": "c1"}
    result = await socket.hear()
    assert result["type"] == "result", result
    (output,) = result["outputs"]
    assert output["data"] == [2.0, 5.0, -6.0]
    assert output["shape"] == [1, 3]
    assert output["stats"] == {"min": -6.0, "max": 5.0, "mean": pytest.approx(1 / 3)}
    timing = result["timing"]
    assert 0 < timing["compute_infer_us"] < timing["total_us"]
    assert 0 < timing["gateway_us"] < timing["total_us"]
    assert result["model_version"] == "1"
    assert result["deployment"] == "blue"
    await socket.leave()


async def test_binary_data_travels_as_base64(served: Gateway) -> None:
    raw = base64.b64encode(struct.pack("<6f", *range(6))).decode()
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": {"b64": raw}}
    socket = await deployer_socket()
    await socket.ask(infer(inputs=[tensor]))
    result = await socket.hear()
    assert result["outputs"][0]["data"] == [0, 2, 4, 6, 8, 10]
    await socket.leave()


async def test_a_wrong_shape_is_named_before_anything_is_sent(served: Gateway) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [0, 0, 0, 0]}
    socket = await deployer_socket()
    await socket.ask(infer(inputs=[tensor]))
    error = await socket.hear()
    assert (error["type"], error["id"], error["code"]) == ("error", "c1", "InvalidInput")
    assert error["message"] == "x: 1 × 4 sent, any × 3 expected (axis 2)"
    await socket.leave()


async def test_the_servers_own_words_are_kept(served: Gateway) -> None:
    socket = await deployer_socket()
    await socket.ask(infer(outputs=["nope"]))
    error = await socket.hear()
    assert error["type"] == "error"
    assert error["status"] == 400
    assert "nope" in error["triton"]
    await socket.leave()


@pytest.mark.parametrize(
    "text", ["not json", "[]", "{}", '{"op":"what"}', '{"op":"infer"}', "[" * 9999]
)
async def test_nonsense_gets_an_error_and_the_socket_lives_on(served: Gateway, text: str) -> None:
    socket = await deployer_socket()
    frame = await socket.ask(text)
    assert frame["type"] == "error"
    assert frame["message"]
    assert (await socket.ask({"op": "metadata"}))["type"] == "metadata"
    await socket.leave()


async def test_viewers_look_but_do_not_call(served: Gateway) -> None:
    viewer = await database_sync_to_async(user)(User.Role.VIEWER)
    socket = await Browser.open("/ws/v1/console/digits", viewer)
    assert (await socket.ask({"op": "metadata"}))["type"] == "metadata"
    assert (await socket.ask(infer()))["code"] == "Forbidden"
    await socket.leave()


async def test_a_dead_gateway_is_said_so(transactional_db: None, settings: Any) -> None:
    settings.SHOAL_GATEWAY_PLAIN_URL = "http://127.0.0.1:9"
    await database_sync_to_async(lambda: deployment_row(endpoint_row()))()
    socket = await deployer_socket()
    metadata = await socket.ask({"op": "metadata"})
    assert metadata["models"][0]["inputs"][0]["name"] == "x"
    await socket.ask(infer())
    assert (await socket.hear())["code"] == "GatewayUnreachable"
    await socket.leave()


@pytest.mark.parametrize(("known", "code"), [(True, 4404), (False, 4401)])
async def test_strangers_and_unknown_endpoints_are_turned_away(
    transactional_db: None, known: bool, code: int
) -> None:
    person = await database_sync_to_async(user)() if known else AnonymousUser()
    socket = await Browser.open("/ws/v1/console/nope", person)
    assert await socket.closed_with() == code
    await socket.leave()

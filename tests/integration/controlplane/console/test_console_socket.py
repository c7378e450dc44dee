"""The test console: from a browser's frame through Envoy to a real runtime, and back."""

import base64
import struct
from typing import Any

import pytest
from channels.db import database_sync_to_async
from conftest_console import MODEL, REPEAT, deployment_row, endpoint_row, user
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


def repeat_inputs(values: list[int], *, delay_ms: int) -> list[dict[str, Any]]:
    """What the repeat backend takes: the values, a wait before each, a wait before the first."""
    count = len(values)
    return [
        {"name": "IN", "datatype": "INT32", "shape": [count], "data": values},
        {"name": "DELAY", "datatype": "UINT32", "shape": [count], "data": [delay_ms] * count},
        {"name": "WAIT", "datatype": "UINT32", "shape": [1], "data": [0]},
    ]


async def test_metadata_is_the_running_servers_with_registered_labels(served: Gateway) -> None:
    socket = await deployer_socket()
    frame = await socket.ask({"op": "metadata"})
    assert frame["type"] == "metadata"
    assert frame["may_infer"] is True
    assert frame["limits"]["binary_bytes"] > frame["limits"]["request_chars"]
    (model,) = [model for model in frame["models"] if model["name"] == MODEL]
    assert (model["decoupled"], model["sequence"], model["warmup"]) == (False, None, [])
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
    assert await socket.hear() == {"type": "sent", "id": "c1"}
    result = await socket.hear()
    assert result["type"] == "result", result
    (output,) = result["outputs"]
    assert output["data"] == [2.0, 5.0, -6.0]
    assert output["shape"] == [1, 3]
    assert output["stats"] == {
        "min": -6.0,
        "max": 5.0,
        "mean": pytest.approx(1 / 3),
        "nan": 0,
        "infinite": 0,
    }
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
    result = await socket.hear_type("result")
    assert result["outputs"][0]["data"] == [0, 2, 4, 6, 8, 10]
    await socket.leave()


async def test_large_tensors_travel_as_binary_frames(served: Gateway) -> None:
    raw = struct.pack("<6f", *range(6))
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": {"frames": 2}}
    socket = await deployer_socket()
    await socket.say(infer(inputs=[tensor]))
    await socket.say_bytes(raw[:10])
    await socket.say_bytes(raw[10:])
    result = await socket.hear_type("result")
    assert result["outputs"][0]["data"] == [0, 2, 4, 6, 8, 10]
    await socket.say_bytes(b"more")
    assert "no call announced" in (await socket.hear())["message"]
    await socket.leave()


async def test_a_decoupled_model_answers_response_by_response(served: Gateway) -> None:
    socket = await deployer_socket()
    await socket.say(infer(model=REPEAT, inputs=repeat_inputs([4, 5, 6], delay_ms=1)))
    await socket.hear_type("sent")
    found = [await socket.hear() for _ in range(3)]
    assert [frame["type"] for frame in found] == ["response"] * 3
    assert [frame["outputs"][0]["data"] for frame in found] == [[4], [5], [6]]
    assert [frame["index"] for frame in found] == [0, 1, 2]
    assert found[0]["at_us"] < found[1]["at_us"] < found[2]["at_us"]
    result = await socket.hear()
    assert (result["type"], result["responses"], result["outputs"]) == ("result", 3, [])
    assert result["timing"]["first_us"] == found[0]["at_us"]
    assert result["deployment"] == "blue"
    await socket.leave()


async def test_a_stream_is_stopped_on_request(served: Gateway) -> None:
    socket = await deployer_socket()
    await socket.say(infer(model=REPEAT, inputs=repeat_inputs(list(range(500)), delay_ms=50)))
    await socket.hear_type("response")
    await socket.say({"op": "cancel", "id": "c1"})
    assert await socket.hear_type("cancelled") == {"type": "cancelled", "id": "c1"}
    # The socket is free for the next call at once.
    await socket.say(infer(id="c2"))
    assert (await socket.hear_type("result"))["id"] == "c2"
    await socket.leave()


async def test_parameters_reach_the_model(served: Gateway) -> None:
    """A version that does not exist, and a priority: both are the server's to judge."""
    socket = await deployer_socket()
    await socket.say(infer(version="7"))
    assert "7" in (await socket.hear_type("error"))["triton"]
    await socket.say(infer(id="c2", parameters={"sequence_id": 5, "sequence_start": True}))
    assert (await socket.hear_type("result"))["outputs"][0]["data"] == [2.0, 5.0, -6.0]
    await socket.say(infer(id="c3", parameters={"color": "red"}))
    assert "parameters.color" in (await socket.hear_type("error"))["message"]
    await socket.leave()


async def test_a_wrong_shape_is_named_before_anything_is_sent(served: Gateway) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [0, 0, 0, 0]}
    socket = await deployer_socket()
    await socket.ask(infer(inputs=[tensor]))
    error = await socket.hear_type("error")
    assert (error["type"], error["id"], error["code"]) == ("error", "c1", "InvalidInput")
    assert error["message"] == "x: 1 × 4 sent, any × 3 expected (axis 2)"
    await socket.leave()


async def test_the_servers_own_words_are_kept(served: Gateway) -> None:
    socket = await deployer_socket()
    await socket.ask(infer(outputs=["nope"]))
    error = await socket.hear_type("error")
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
    assert (await socket.ask({"op": "metadata"}))["may_infer"] is False
    assert (await socket.ask(infer()))["code"] == "Forbidden"
    await socket.leave()


async def test_a_dead_gateway_is_said_so(transactional_db: None, settings: Any) -> None:
    settings.SHOAL_GATEWAY_PLAIN_URL = "http://127.0.0.1:9"
    await database_sync_to_async(lambda: deployment_row(endpoint_row()))()
    socket = await deployer_socket()
    metadata = await socket.ask({"op": "metadata"})
    assert metadata["models"][0]["inputs"][0]["name"] == "x"
    await socket.ask(infer())
    assert (await socket.hear_type("error"))["code"] == "GatewayUnreachable"
    await socket.leave()


@pytest.mark.parametrize(("known", "code"), [(True, 4404), (False, 4401)])
async def test_strangers_and_unknown_endpoints_are_turned_away(
    transactional_db: None, known: bool, code: int
) -> None:
    person = await database_sync_to_async(user)() if known else AnonymousUser()
    socket = await Browser.open("/ws/v1/console/nope", person)
    assert await socket.closed_with() == code
    await socket.leave()

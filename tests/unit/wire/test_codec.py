"""Messages survive the wire; what cannot be understood is named."""

import json
from typing import Any

import pytest

from wire import codec, messages
from wire.codec import WireError

NODE = messages.NodeInfo(
    name="local",
    agent_version="0.1.0",
    backends=("onnxruntime",),
    gpus=(messages.GpuInfo(0, "GPU-1", "H200", 150_000_000_000),),
    labels={"zone": "a"},
)
REPLICA = messages.ObservedReplica(
    replica_id="r1",
    generation=3,
    state="failed",
    error=messages.Problem("DiskFull", "no space", hints=("free some",)),
)
ROUND_TRIPS: list[Any] = [
    messages.RegisterRequest(token="t", node=NODE),
    messages.NodeReport(node=NODE, observed_generation=7, replicas=(REPLICA,), sent_at=1.5),
    messages.DesiredState(
        node_id="n",
        generation=2,
        replicas=(
            messages.DesiredReplica(
                "r1", 3, "digits", "blue", (messages.FileRef("m/1/model.onnx", 5, "ab"),)
            ),
        ),
    ),
    messages.GatewaySnapshot(version="v", clusters={"a": {"deep": [1, {"b": None}]}}),
]


@pytest.mark.parametrize("message", ROUND_TRIPS, ids=lambda m: type(m).__name__)
def test_a_message_survives_the_wire(message: Any) -> None:
    assert codec.decode(type(message), codec.encode(message)) == message


def test_unknown_fields_are_ignored_so_that_either_side_may_be_newer() -> None:
    data = json.loads(codec.encode(REPLICA)) | {"invented_later": 1}
    assert codec.from_data(messages.ObservedReplica, data) == REPLICA


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"{", "not JSON"),
        (b"[]", "ObservedReplica: expected an object"),
        (b'{"generation":1,"state":"ready"}', "ObservedReplica.replica_id: missing"),
        (
            b'{"replica_id":"r","generation":"1","state":"ready"}',
            "ObservedReplica.generation: expected int, got '1'",
        ),
        (
            b'{"replica_id":"r","generation":true,"state":"ready"}',
            "ObservedReplica.generation: expected int, got True",
        ),
        (
            b'{"replica_id":"r","generation":1,"state":"x","error":{"code":"A"}}',
            "ObservedReplica.error.message: missing",
        ),
    ],
)
def test_what_cannot_be_understood_is_named(payload: bytes, expected: str) -> None:
    with pytest.raises(WireError, match=expected.replace("[", r"\[")):
        codec.decode(messages.ObservedReplica, payload)


def test_whole_numbers_are_accepted_as_times() -> None:
    reply = codec.decode(messages.ReportReply, b'{"desired_generation":1,"poll_interval_s":5}')
    assert reply.poll_interval_s == 5.0

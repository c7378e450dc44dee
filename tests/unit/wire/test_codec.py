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


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", "-Infinity", "1e999", "9223372036854775809", "-9223372036854775809",
     "1" * 400, "1" * 5000, '"1"', "true", "[1]"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["sent_at", "observed_generation"])
def test_a_number_is_finite_and_fits_64_bits(name: str, value: str) -> None:
    node = codec.encode(NODE).decode()
    payload = f'{{"node":{node},"observed_generation":1,"{name}":{value}}}'
    with pytest.raises(WireError, match=rf"NodeReport(\.{name}: expected|: not JSON)") as told:
        codec.decode(messages.NodeReport, payload)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize(
    ("spelled", "read"),
    [
        (rb"\ud800", "?"),
        (rb"a\udfffb", "a?b"),
        (rb"\ud83d\ude00", "\N{GRINNING FACE}"),
        (rb"\\ud800", "\\ud800"),
    ],
)
def test_text_can_be_written_as_utf_8(spelled: bytes, read: str) -> None:
    payload = b'{"code":"A","message":"' + spelled + b'"}'
    assert codec.decode(messages.Problem, payload).message == read


@pytest.mark.parametrize(
    "payload",
    [b'{"code":"\xff","message":""}', b'{"code":"\xed\xa0\x80","message":""}',
     b"[" * 100_000, b'{"a":' * 100_000],
)  # fmt: skip
def test_what_is_no_json_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError, match="Problem: not JSON"):
        codec.decode(messages.Problem, payload)


@pytest.mark.parametrize(("deep", "passes"), [(60, True), (70, False), (900, False)])
def test_values_without_a_shape_are_not_nested_without_end(deep: int, passes: bool) -> None:
    payload = f'{{"version":"v","clusters":{{"a":{"[" * deep}{"]" * deep}}}}}'
    if passes:
        assert codec.decode(messages.GatewaySnapshot, payload).version == "v"
        return
    with pytest.raises(WireError, match=r"clusters\.a: expected at most 64 levels"):
        codec.decode(messages.GatewaySnapshot, payload)


@pytest.mark.parametrize("value", ["NaN", "-1e999", "1" * 30])
def test_values_without_a_shape_hold_finite_numbers(value: str) -> None:
    payload = f'{{"version":"v","clusters":{{"a":[{{"b":{value}}}]}}}}'
    with pytest.raises(WireError, match=r"clusters\.a: expected a finite number"):
        codec.decode(messages.GatewaySnapshot, payload)


def test_a_huge_value_is_named_by_its_beginning() -> None:
    payload = json.dumps({"code": ["x" * 10_000], "message": ""})
    with pytest.raises(WireError, match=r"Problem\.code: expected str") as told:
        codec.decode(messages.Problem, payload)
    assert len(str(told.value)) < 200


def test_whole_numbers_are_accepted_as_times() -> None:
    reply = codec.decode(messages.ReportReply, b'{"desired_generation":1,"poll_interval_s":5}')
    assert reply.poll_interval_s == 5.0

"""Reading requests: whatever comes in, the answer is a request or a fault that clients may see."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.plans import Planner
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import InvalidArgument, NotFound, RuntimeFault
from worker_runtime.observability.tracing.tracer import Tracer
from worker_runtime.protocols.grpc import requests as reading
from worker_runtime.protocols.grpc.requests import Decoder, incoming, version_number
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

NAMES = st.sampled_from(["x", "t", "z", ""])
TYPES = st.sampled_from([*BY_NAME, "FOO", ""])
SIGNATURE = Signature(
    model="m",
    max_batch_size=0,
    inputs=(
        TensorSpec("x", BY_NAME["FP32"], (-1,)),
        TensorSpec("t", BY_NAME["BYTES"], (-1,), optional=True),
    ),
    outputs=(TensorSpec("y", BY_NAME["FP32"], (-1,)),),
)


class FakeEngine:
    def __init__(self) -> None:
        self.shared_memory = SharedMemory()
        self.tracer = Tracer()

    def resolve(self, name: str, version: str) -> Any:
        return MODEL

    def plan(self, model: Any, request_id: str, inputs: Any, outputs: Any) -> Any:
        return PLANNER.plan(inputs, outputs)


PLANNER = Planner(SIGNATURE)
MODEL: Any = SimpleNamespace(
    name="m", version=1, signature=SIGNATURE, wire_forms={}, decoupled=False, on_device=False
)
ENGINE: Any = FakeEngine()
HEAD: Any = SimpleNamespace(path="", metadata=[("x-user", "me"), ("user-agent", "test")])
SINK: Any = None


def decode(data: bytes, pattern: str = "") -> InferRequest:
    decoder = Decoder(ENGINE, pattern)
    request = incoming(data)
    return decoder.decode(decoder.model(request), request, SINK, HEAD)


def good(request_id: str = "") -> Any:
    message = pb.ModelInferRequest(model_name="m", id=request_id)
    message.inputs.add(name="x", datatype="FP32", shape=[1])
    message.raw_input_contents.append(b"\0\0\x80?")
    return message


@st.composite
def parameters(draw: st.DrawFn) -> Any:
    found = pb.InferParameter()
    kind = draw(st.sampled_from(["bool", "int64", "string", "double", "uint64", "none"]))
    values: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "int64": st.integers(-(2**63), 2**63 - 1),
        "string": st.text(max_size=10),
        "double": st.floats(),
        "uint64": st.integers(0, 2**64 - 1),
    }
    if kind != "none":
        setattr(found, f"{kind}_param", draw(values[kind]))
    return found


KEYS = st.sampled_from(
    [
        "sequence_id",
        "sequence_start",
        "priority",
        "timeout",
        "triton_x",
        "triton_enable_empty_final_response",
        "classification",
        "shared_memory_region",
        "shared_memory_offset",
        "shared_memory_byte_size",
        "mine",
    ]
)
PARAMETERS = st.dictionaries(KEYS, parameters(), max_size=3)


@st.composite
def requests(draw: st.DrawFn) -> Any:
    message = pb.ModelInferRequest(model_name="m", id=draw(st.text(max_size=5)))
    for _ in range(draw(st.integers(0, 3))):
        item = message.inputs.add(
            name=draw(NAMES),
            datatype=draw(TYPES),
            shape=draw(st.lists(st.integers(-2, 3) | st.just(2**62), max_size=3)),
        )
        if draw(st.booleans()):
            item.contents.fp32_contents.extend(draw(st.lists(st.floats(width=32), max_size=3)))
        if draw(st.booleans()):
            item.contents.int_contents.extend(draw(st.lists(st.integers(-9, 9), max_size=3)))
        if draw(st.booleans()):
            item.contents.bytes_contents.extend(draw(st.lists(st.binary(max_size=3), max_size=3)))
        for key, value in draw(PARAMETERS).items():
            item.parameters[key].CopyFrom(value)
    for _ in range(draw(st.integers(0, 2))):
        output = message.outputs.add(name=draw(st.sampled_from(["y", "z", ""])))
        for key, value in draw(PARAMETERS).items():
            output.parameters[key].CopyFrom(value)
    for key, value in draw(PARAMETERS).items():
        message.parameters[key].CopyFrom(value)
    message.raw_input_contents.extend(draw(st.lists(st.binary(max_size=16), max_size=3)))
    return message


@settings(max_examples=300)
@given(requests())
def test_every_message_is_a_request_or_a_fault(message: Any) -> None:
    MODEL.wire_forms.clear()
    data = message.SerializeToString()
    found: list[Any] = []
    for _ in range(2):  # read anew, and (if it is good) known
        try:
            request = decode(data)
            found.append([bytes(part) for part in request.inputs if not hasattr(part, "dtype")])
        except RuntimeFault as error:
            found.append(str(error))
    assert found[0] == found[1]


@settings(max_examples=300)
@given(st.binary(max_size=100))
def test_random_bytes_are_a_request_or_a_fault(data: bytes) -> None:
    try:
        decode(data)
    except RuntimeFault as error:
        assert str(error)


def test_a_known_form_takes_its_id_and_its_tensors_from_the_message() -> None:
    MODEL.wire_forms.clear()
    first, second = decode(good("a").SerializeToString()), decode(good("bc").SerializeToString())
    assert len(MODEL.wire_forms) == 1
    assert (first.id, second.id) == ("a", "bc")
    assert second.form is first.form
    assert [bytes(part) for part in second.inputs] == [b"\0\0\x80?"]


@pytest.fixture
def region() -> Iterator[Path]:
    """Eight bytes in shared memory, registered as "mine"."""
    path = Path("/dev/shm") / f"shoal_test_{uuid.uuid4().hex}"
    path.write_bytes(b"\0\0\x80?\0\0\0@")
    ENGINE.shared_memory.register_system("mine", path.name, 0, 8)
    yield path
    ENGINE.shared_memory.unregister_system()
    path.unlink()


def shared(offset: int, request_id: str = "") -> Any:
    message = pb.ModelInferRequest(model_name="m", id=request_id)
    for tensor, at in (
        (message.inputs.add(name="x", datatype="FP32", shape=[1]), offset),
        (message.outputs.add(name="y"), 0),
    ):
        tensor.parameters["shared_memory_region"].string_param = "mine"
        tensor.parameters["shared_memory_offset"].int64_param = at
        tensor.parameters["shared_memory_byte_size"].int64_param = 4
    return message


def test_a_known_form_in_shared_memory_needs_no_protobuf(
    region: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MODEL.wire_forms.clear()
    first = decode(shared(4, "a").SerializeToString())
    with monkeypatch.context() as patch:
        patch.setattr(reading, "parsed", lambda *_: pytest.fail("it was parsed again"))
        second = decode(shared(4, "bc").SerializeToString())
    assert (first.id, second.id) == ("a", "bc")
    assert [bytes(part) for part in second.inputs] == [b"\0\0\0@"]
    assert second.form.windows["y"] is not first.form.windows["y"]
    second.form.windows["y"].write(b"1234")
    assert region.read_bytes() == b"1234\0\0\0@"
    (kept,) = MODEL.wire_forms.values()
    assert kept.windows is None  # which would hold the region for good


def test_a_known_form_finds_its_region_gone(region: Path) -> None:
    MODEL.wire_forms.clear()
    data = shared(0).SerializeToString()
    decode(data)
    ENGINE.shared_memory.unregister_system("mine")
    with pytest.raises(NotFound, match="Unable to find shared memory region: 'mine'"):
        decode(data)
    ENGINE.shared_memory.register_system("mine", region.name, 0, 2)
    with pytest.raises(InvalidArgument, match="Invalid offset"):
        decode(data)


def test_a_known_form_without_its_raw_tensor_says_so(region: Path) -> None:
    MODEL.wire_forms.clear()
    message = shared(0)
    message.inputs.add(name="t", datatype="BYTES", shape=[1])
    whole, missing = type(message)(), message.SerializeToString()
    whole.CopyFrom(message)
    whole.raw_input_contents.append(b"\1\0\0\0A")
    for _ in range(2):
        assert [len(part) for part in decode(whole.SerializeToString()).inputs] == [4, 1]
    with pytest.raises(InvalidArgument, match="unable to find data for input tensor 't'"):
        decode(missing)


def test_forms_stay_bounded() -> None:
    MODEL.wire_forms.clear()
    for number in range(1500):
        message = good()
        message.parameters["mine"].int64_param = number
        decode(message.SerializeToString())
    assert len(MODEL.wire_forms) <= 512


def test_sequences_are_not_kept_as_forms() -> None:
    MODEL.wire_forms.clear()
    message = good()
    message.parameters["sequence_id"].int64_param = 7
    message.parameters["sequence_start"].bool_param = True
    request = decode(message.SerializeToString())
    assert request.sequence is not None
    assert (request.sequence.id, request.sequence.start) == (7, True)
    assert not MODEL.wire_forms


@pytest.mark.parametrize("known", [False, True])
def test_headers_become_parameters(known: bool) -> None:
    MODEL.wire_forms.clear()
    message = good()
    message.parameters["mine"].int64_param = 1
    data = message.SerializeToString()
    if known:
        decode(data)
    assert decode(data, "^X-").parameters == {"mine": 1, "x-user": "me"}
    assert decode(data).parameters == {"mine": 1}


@pytest.mark.parametrize(
    ("text", "number"), [("1", "1"), ("01", "1"), (" 3", "3"), ("+4", "4"), ("5x", "5"), ("0", "0")]
)
def test_versions_are_read_as_numbers(text: str, number: str) -> None:
    assert version_number(text) == number


@pytest.mark.parametrize("text", ["x", "-1", "--1", " ", "9223372036854775808", "9" * 5000, "٣"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(InvalidArgument, match="version should be an integral value > 0"):
        version_number(text)

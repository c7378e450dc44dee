"""Reading requests: whatever comes in, the answer is a request or a fault that clients may see."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.plans import Planner
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.grpc.requests import Decoder, incoming
from worker_runtime.protocols.grpc.versions import version_number
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
        self.tracer = SimpleNamespace(active=False)

    def resolve(self, name: str, version: str) -> Any:
        return MODEL

    def plan(self, model: Any, request_id: str, inputs: Any, outputs: Any) -> Any:
        return PLANNER.plan(inputs, outputs)


PLANNER = Planner(SIGNATURE)
MODEL: Any = SimpleNamespace(
    name="m", version=1, signature=SIGNATURE, wire_forms={}, decoupled=False
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


@pytest.mark.parametrize("text", ["x", "-1", "--1", " ", "9223372036854775808", "٣"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(InvalidArgument, match="version should be an integral value > 0"):
        version_number(text)

"""Cutting requests up and assembling answers, against protobuf's own reading."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.protocols.grpc.wire import answer_id, cut, raw_field, streamed_head, varint

names = st.text(max_size=200)
raws = st.lists(st.binary(max_size=300), max_size=4)


@st.composite
def requests(draw: st.DrawFn) -> Any:
    message = pb.ModelInferRequest(
        model_name=draw(names), model_version=draw(names), id=draw(names)
    )
    for name in draw(st.lists(names, max_size=3)):
        message.inputs.add(name=name, datatype="FP32", shape=draw(st.lists(st.integers(0, 9))))
    for name in draw(st.lists(names, max_size=3)):
        message.outputs.add(name=name).parameters["classification"].int64_param = 2
    for name in draw(st.lists(names, max_size=2)):
        message.parameters[name].bool_param = True
    message.raw_input_contents.extend(draw(raws))
    return message


@given(requests())
def test_the_parts_are_the_message(message: Any) -> None:
    parts = cut(message.SerializeToString())
    assert parts is not None
    assert cut(memoryview(bytearray(message.SerializeToString()))) == parts
    assert (parts.name, parts.version, parts.id) == (
        message.model_name,
        message.model_version,
        message.id,
    )
    assert [bytes(raw) for raw in parts.raw] == list(message.raw_input_contents)
    rest = pb.ModelInferRequest.FromString(parts.head)
    assert not rest.id
    assert not rest.raw_input_contents
    rest.id = message.id
    rest.raw_input_contents.extend(message.raw_input_contents)
    assert rest == message


@given(requests(), requests())
def test_messages_that_follow_one_another_are_left_to_protobuf(first: Any, second: Any) -> None:
    data = first.SerializeToString() + second.SerializeToString()
    parts = cut(data)
    if parts is not None:
        whole = pb.ModelInferRequest.FromString(data)
        assert (parts.name, parts.version, parts.id) == (
            whole.model_name,
            whole.model_version,
            whole.id,
        )
        assert [bytes(raw) for raw in parts.raw] == list(whole.raw_input_contents)


@given(st.binary(max_size=200))
def test_no_bytes_are_too_strange(data: bytes) -> None:
    cut(data)


@given(requests(), st.data())
def test_a_message_that_was_cut_off_is_not_read_beyond_its_end(message: Any, data: Any) -> None:
    whole = message.SerializeToString()
    parts = cut(whole[: data.draw(st.integers(0, len(whole)))])
    if parts is not None:
        assert sum(map(len, parts.raw)) + len(parts.head) <= len(whole)


def test_text_that_is_not_utf8_is_left_to_protobuf() -> None:
    assert cut(b"\x0a\x01\xff") is None


@given(st.integers(0, 2**40))
def test_varints(value: int) -> None:
    data = varint(value)
    found = sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(data))
    assert found == value
    assert all(byte >= 128 for byte in data[:-1])
    assert data[-1] < 128


@given(names, raws)
def test_answers_are_put_together(request_id: str, tensors: list[bytes]) -> None:
    head = pb.ModelInferResponse(model_name="m", model_version="1").SerializeToString()
    body = head + answer_id(request_id)
    for raw in tensors:
        body += raw_field(len(raw)) + raw
    reply = pb.ModelInferResponse.FromString(body)
    assert (reply.model_name, reply.id) == ("m", request_id)
    assert list(reply.raw_output_contents) == tensors
    streamed = pb.ModelStreamInferResponse.FromString(streamed_head(len(body)) + body)
    assert streamed.infer_response == reply

"""Large requests, which are read in slices, against protobuf's own reading of them."""

from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.grpc import large_requests
from worker_runtime.protocols.grpc.contents import gather
from worker_runtime.protocols.grpc.large_requests import MOST_BYTES, MOST_FIELDS, outlined
from worker_runtime.protocols.grpc.requests import incoming
from worker_runtime.protocols.grpc.wire import varint
from worker_runtime.protocols.slices import Later, at_once

MEMORY: Any = None
FIELDS: dict[str, tuple[int, st.SearchStrategy[Any]]] = {
    "BOOL": (1, st.booleans()),
    "INT8": (2, st.integers(-(2**31), 2**31 - 1)),
    "INT16": (2, st.integers(-(2**31), 2**31 - 1)),
    "INT32": (2, st.integers(-(2**31), 2**31 - 1)),
    "INT64": (3, st.integers(-(2**63), 2**63 - 1)),
    "UINT8": (4, st.integers(0, 2**32 - 1)),
    "UINT32": (4, st.integers(0, 2**32 - 1)),
    "UINT64": (5, st.integers(0, 2**64 - 1)),
    "FP32": (6, st.floats(width=32)),
    "FP64": (7, st.floats()),
    "BYTES": (8, st.binary(max_size=5)),
}
NUMBERS = {"inputs": 5, "outputs": 6, "raw_input_contents": 7}


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Inputs with contents that may be given in several parts, and values one by one."""
    data = field(1, b"m") + field(3, b"id")
    for _ in range(draw(st.integers(0, 3))):
        datatype = draw(st.sampled_from(sorted(FIELDS)))
        number, values = FIELDS[datatype]
        item = field(1, b"x") + field(2, datatype.encode()) + b"\x18\x01"
        for _ in range(draw(st.integers(1, 3))):
            part = pb.InferTensorContents()
            name = next(f.name for f in part.DESCRIPTOR.fields if f.number == number)
            getattr(part, name).extend(draw(st.lists(values, max_size=9)))
            item += field(5, part.SerializeToString())
            if number < 6 and draw(st.booleans()):
                item += field(5, varint(number << 3) + varint(draw(st.integers(0, 2**64 - 1))))
            if number == 6 and draw(st.booleans()):
                item += field(5, b"\x35\0\0\x80\x3f")
            if number == 7 and draw(st.booleans()):
                item += field(5, b"\x39\0\0\0\0\0\0\xf0\x3f")
        data += field(5, item)
    for name in draw(st.lists(st.text(max_size=5), max_size=3)):
        data += field(6, field(1, name.encode()))
    return data + draw(st.sampled_from([b"", b"\x78\x01", field(9, b"a"), b"\x0d\0\0\0\0"]))


def read(data: bytes) -> tuple[Any, list[Any]]:
    outline = at_once(outlined(data))
    message = pb.ModelInferRequest.FromString(outline.head)
    return message, gather(message, outline.raw, MEMORY, on_device=False, typed=outline.typed)


def shown(buffers: list[Any]) -> list[Any]:
    return [list(item) if isinstance(item, list | np.ndarray) else bytes(item) for item in buffers]


@pytest.mark.parametrize("small", [True, False])
@given(data=messages())
def test_typed_values_are_those_that_protobuf_reads(data: bytes, small: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(large_requests, "_SPAN", 3)
            patch.setattr(large_requests, "_SLICE_BYTES", 12)
        whole = pb.ModelInferRequest.FromString(data)
        message, buffers = read(data)
        assert shown(buffers) == shown(gather(whole, [], MEMORY, on_device=False))
    for item in whole.inputs:
        item.ClearField("contents")
    whole.DiscardUnknownFields()
    assert message == whole


@given(messages(), st.data())
def test_what_is_cut_off_is_refused_as_by_protobuf(data: bytes, draws: Any) -> None:
    part = data[: draws.draw(st.integers(0, len(data)))]
    try:
        pb.ModelInferRequest.FromString(part)
    except DecodeError:
        with pytest.raises((InvalidArgument, DecodeError)):
            pb.ModelInferRequest.FromString(at_once(outlined(part)).head)
    else:
        at_once(outlined(part))


@given(st.binary(max_size=200))
def test_no_bytes_are_too_strange(data: bytes) -> None:
    try:
        at_once(outlined(data))
    except InvalidArgument as error:
        assert "ModelInferRequest" in str(error)


@pytest.mark.parametrize("name", NUMBERS)
def test_there_are_only_so_many_of_a_field(name: str) -> None:
    data = field(1, b"m") + field(NUMBERS[name], b"") * MOST_FIELDS
    assert at_once(outlined(data)).head
    with pytest.raises(InvalidArgument, match=f"{MOST_FIELDS} {name} .*at most {MOST_FIELDS}"):
        at_once(outlined(data + field(NUMBERS[name], b"")))


def test_a_shape_is_bounded_and_the_input_is_named() -> None:
    for shape in (field(3, b"\1" * 40_000), b"\x18\1" * 20_000):
        data = field(5, field(1, b"INPUT0") + shape)
        with pytest.raises(InvalidArgument, match="shape and parameters of input 'INPUT0' take"):
            at_once(outlined(data))


def test_what_stands_beside_values_is_bounded() -> None:
    output = field(6, field(2, field(1, b"k")) * 6000)
    with pytest.raises(InvalidArgument, match=f"expected at most {MOST_BYTES}"):
        at_once(outlined(output * 20))
    with pytest.raises(InvalidArgument, match="names, id and parameters"):
        at_once(outlined(field(3, b"a" * 2_000_000)))


def test_only_large_requests_take_slices() -> None:
    small = field(1, b"m") + field(7, bytes(1_000_000))
    assert incoming(small).head == field(1, b"m")
    for large in (
        field(1, b"m") + field(7, b"") * 3000,
        field(1, b"m") + field(5, field(5, field(6, bytes(40_000)))),
        field(7, bytes(5000)) + field(1, b"m"),
    ):
        with pytest.raises(Later) as later:
            incoming(large)
        assert at_once(later.value.steps).name == "m"


def test_a_slice_is_short() -> None:
    """Whatever is in a message, no step of its reading takes more than so many fields."""
    values = field(5, field(1, b"x") + field(2, b"FP32") + field(5, b"\x35\0\0\x80\x3f" * 50_000))
    with pytest.raises(Later) as later:
        incoming(field(1, b"m") + values)
    assert sum(1 for _ in later.value.steps) > 20  # turns

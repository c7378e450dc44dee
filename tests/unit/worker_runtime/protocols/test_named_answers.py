"""Answers that name their outputs: the quick way writes what the long way does."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.protocols.forms import MAX_ANSWER_HEADS, OutputForm
from worker_runtime.protocols.grpc.answers import _composed, aligned, answer
from worker_runtime.protocols.grpc.requests import GrpcForm
from worker_runtime.protocols.http.encode import _described_answer, encode, encode_any
from worker_runtime.protocols.http.forms import HttpForm
from worker_runtime.types.request import InferRequest, Plan
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

HEAD: Any = SimpleNamespace(accept_encoding="")
QUIET = {"sequence_id": 0, "sequence_start": False, "sequence_end": False}
SPECS = (
    TensorSpec("a", BY_NAME["INT32"], (-1,)),
    TensorSpec("b", BY_NAME["BF16"], (-1,)),
)
MODEL = SimpleNamespace(name='m"x', version=3, signature=Signature("m", 0, (), SPECS))
PLAN = Plan(inputs=(), order=None, rows=1, batch_key=(), outputs=("a", "b"))
FORMS = {
    "http": lambda: HttpForm(PLAN, dict.fromkeys(PLAN.outputs, OutputForm()), heads={}),
    "grpc": lambda: GrpcForm(PLAN, {}, heads={}),
}
PAIR = [np.arange(4, dtype=np.int32), np.arange(3, dtype=np.uint16)]


def request(form: Any, request_id: str = "") -> InferRequest:
    sink: Any = None
    return InferRequest(plan=PLAN, inputs=[], sink=sink, id=request_id, form=form, model=MODEL)


def http(given: Any) -> tuple[bytes, bytes]:
    start, parts, size = given
    start, _, body = b"".join([start, *(bytes(part) for part in parts)]).partition(b"\r\n\r\n")
    assert size == len(body)
    assert b"\r\nContent-Length: %d" % size in start
    return start, body


def grpc(given: Any) -> Any:
    parts, size = given
    data = b"".join(bytes(part) for part in parts)
    assert size == len(data)
    return pb.ModelInferResponse.FromString(data)


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        QUIET,
        {"sequence_id": "text\u00e9", "sequence_start": True},
        {"one": 1, "true": True, "float": 1.0, "zero": 0.0, "none": -0.0, "big": 2**63, "low": -1},
        {"nan": float("nan"), "infinite": float("-inf")},
    ],
)
@pytest.mark.parametrize("request_id", ["", "mine"])
@pytest.mark.parametrize(
    "arrays",
    [
        PAIR,
        [np.arange(4.0), np.arange(3, dtype=np.uint16)],  # not of the type that is configured
        [np.arange(8, dtype=np.int32)[::2].copy(), np.zeros(0, np.uint16)],
        [np.array([b"x", b"yz"], dtype=object), np.arange(3, dtype=np.uint16)],
        [np.zeros(40_000, np.int32), np.arange(3, dtype=np.uint16)],
    ],
)
def test_both_ways_write_the_same(parameters: Any, request_id: str, arrays: Any) -> None:
    form = FORMS["http"]()
    for _ in range(2):  # the second time from what is remembered
        asked = request(form, request_id)
        quick = http(encode_any(HEAD, asked, PLAN.outputs, arrays, parameters))
        assert quick == http(_described_answer(HEAD, asked, PLAN.outputs, arrays, parameters))
    wire = FORMS["grpc"]()
    for _ in range(2):
        asked = request(wire, request_id)
        quick = grpc(answer(asked, PLAN.outputs, arrays, parameters))
        assert str(quick) == str(grpc(_composed(asked, PLAN.outputs, arrays, parameters)))


def test_parameters_that_python_takes_for_equal_are_told_apart() -> None:
    form = FORMS["grpc"]()
    kinds = []
    for value in (1, True, 1.0, 0.0, -0.0, False, 0, "1"):
        message = grpc(answer(request(form), PLAN.outputs, PAIR, {"p": value}))
        parameter = message.parameters["p"]
        kind = parameter.WhichOneof("parameter_choice")
        kinds.append((kind, str(getattr(parameter, kind))))
    assert kinds == [
        ("int64_param", "1"),
        ("bool_param", "True"),
        ("double_param", "1.0"),
        ("double_param", "0.0"),
        ("double_param", "-0.0"),
        ("bool_param", "False"),
        ("int64_param", "0"),
        ("string_param", "1"),
    ]


def test_another_type_of_the_same_shape_is_another_answer() -> None:
    form, wire = FORMS["http"](), FORMS["grpc"]()
    for dtype, name in ((np.int32, "INT32"), (np.float64, "FP64"), (np.int32, "INT32")):
        arrays = [np.ones(4, dtype), PAIR[1]]
        start, body = http(encode_any(HEAD, request(form), PLAN.outputs, arrays, QUIET))
        size = int(start.split(b"Inference-Header-Content-Length: ")[1].split(b"\r\n")[0])
        shown = json.loads(body[:size])
        assert shown["outputs"][0]["datatype"] == name
        assert body[size:] == arrays[0].tobytes() + arrays[1].tobytes()
        message = grpc(answer(request(wire), PLAN.outputs, arrays, QUIET))
        assert message.outputs[0].datatype == name
        assert message.outputs[1].datatype == "BF16"
    # answers of the usual way are kept apart
    assert http(encode(HEAD, request(form), PAIR)) == http(
        _described_answer(HEAD, request(form), PLAN.outputs, PAIR)
    )
    assert grpc(aligned(request(wire), PAIR)) == grpc(_composed(request(wire), PLAN.outputs, PAIR))


def test_an_array_that_is_no_row_of_bytes_becomes_one() -> None:
    wire = FORMS["grpc"]()
    arrays = [np.arange(8, dtype=np.int32)[::2], PAIR[1]]
    message = grpc(answer(request(wire), PLAN.outputs, arrays))
    assert message.raw_output_contents[0] == np.array([0, 2, 4, 6], np.int32).tobytes()


def test_fewer_outputs_than_were_asked_for_are_named() -> None:
    form = FORMS["http"]()
    start, body = http(encode_any(HEAD, request(form), ("b",), PAIR[1:], QUIET))
    size = int(start.split(b"Inference-Header-Content-Length: ")[1].split(b"\r\n")[0])
    assert [output["name"] for output in json.loads(body[:size])["outputs"]] == ["b"]
    message = grpc(answer(request(FORMS["grpc"]()), ("b",), PAIR[1:], QUIET))
    assert [output.name for output in message.outputs] == ["b"]


def test_what_is_remembered_is_bounded() -> None:
    form, wire = FORMS["http"](), FORMS["grpc"]()
    for size in range(1, 3 * MAX_ANSWER_HEADS):
        arrays = [np.ones(size, np.int32), PAIR[1]]
        encode_any(HEAD, request(form), PLAN.outputs, arrays, {"sequence_id": size})
        answer(request(wire), PLAN.outputs, arrays, {"sequence_id": size})
        assert len(form.heads) <= MAX_ANSWER_HEADS
        assert len(wire.heads) <= MAX_ANSWER_HEADS

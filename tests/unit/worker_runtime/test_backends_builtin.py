"""The built-in test backends: what they answer, and what configurations they refuse."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worker_runtime.backends.base import Array, BuiltIn, LoadSpec, Placement
from worker_runtime.backends.catalog import backend
from worker_runtime.errors import LoadFailed
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.request import ParameterValue, Response, SequencePart

IDENTITY = """
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ] }
"""
REPEAT = """
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
        { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
        { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] },
         { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
"""
SQUARE = """
input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
"""


class Recorder:
    """A request that keeps what it is sent."""

    id = ""
    parameters: Mapping[str, ParameterValue] = {}
    sequence: SequencePart | None = None
    timeout_ns = 0
    priority = 0
    cancelled = False

    def __init__(self, outputs: tuple[str, ...], **inputs: Array) -> None:
        self.outputs = outputs
        self.inputs = inputs
        self.sent: list[Response | None] = []
        self.skipped = 0
        self.ended = threading.Event()

    def send(
        self,
        response: Response | None,
        *,
        final: bool,
        started_ns: int = 0,
        output_ns: int = 0,
    ) -> None:
        assert not self.ended.is_set()
        assert output_ns >= started_ns
        if response is not None:
            self.sent.append(response)
        if final:
            self.ended.set()

    def skip(self, *, started_ns: int = 0) -> None:
        self.skipped += 1


def loaded(name: str, text: str, instances: int = 1, **parameters: str) -> BuiltIn:
    places = tuple(Placement(f"m_{i}") for i in range(instances))
    spec = LoadSpec("m", 1, Path("unused"), "", parameters, places, 1, config=parse(text))
    model: Any = backend(name).load(spec)
    return model


def ask(model: BuiltIn, *requests: Recorder) -> None:
    model.instances[0].execute_requests(requests)
    for request in requests:
        assert request.ended.wait(10)


def test_identity_gives_back_what_it_gets_with_example_parameters() -> None:
    request = Recorder(("OUTPUT0",), INPUT0=np.array([1.5, 2.5], np.float32))
    ask(loaded("identity", IDENTITY), request)
    (response,) = request.sent
    assert response is not None
    assert response.names == ("OUTPUT0",)
    assert response.arrays[0].tolist() == [1.5, 2.5]
    assert response.parameters == {
        "param0": "an example string parameter",
        "param1": 42,
        "param2": False,
        "param3": 123.123,
    }


def test_identity_answers_an_absent_optional_input_with_zeros() -> None:
    text = (
        "max_batch_size: 4 "
        + IDENTITY
        + """
        input { name: "INPUT1" data_type: TYPE_STRING dims: [ -1, 2 ] optional: true }
        output { name: "OUTPUT1" data_type: TYPE_STRING dims: [ -1, 2 ] }
        """
    )
    request = Recorder(("OUTPUT0", "OUTPUT1"), INPUT0=np.zeros((3, 2), np.float32))
    ask(loaded("identity", text), request)
    (response,) = request.sent
    assert response is not None
    assert response.arrays[1].shape == (3, 1, 2)
    assert set(response.arrays[1].reshape(-1)) == {b""}


def test_identity_fails_when_told_to() -> None:
    model = loaded("identity", IDENTITY, fail="no such luck")
    with pytest.raises(RuntimeError, match="no such luck"):
        model.instances[0].execute_requests([])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("INPUT0", "x"), "expected input name to follow INPUT<index> pattern, got 'x'"),
        (("OUTPUT0", "y"), "expected output name to follow OUTPUT<index> pattern, got 'y'"),
        (("OUTPUT0", "OUTPUT1"), "expected input and output indices to match"),
        (
            ('OUTPUT0" data_type: TYPE_FP32', 'OUTPUT0" data_type: TYPE_INT8'),
            "expected input and output datatype to match, got TYPE_FP32 and TYPE_INT8",
        ),
        (
            (
                'OUTPUT0" data_type: TYPE_FP32 dims: [ 2 ]',
                'OUTPUT0" data_type: TYPE_FP32 dims: [ 3 ]',
            ),
            "expected input and output shape to match, got [2] and [3]",
        ),
    ],
)
def test_identity_wants_pairs(change: tuple[str, str], reason: str) -> None:
    with pytest.raises(LoadFailed) as caught:
        loaded("identity", IDENTITY.replace(*change))
    assert str(caught.value) == reason


def repeat_request(values: list[int], delays: list[int] | None = None, wait: int = 0) -> Recorder:
    return Recorder(
        ("OUT", "IDX"),
        IN=np.array(values, np.int32),
        DELAY=np.array(delays or [0] * len(values), np.uint32),
        WAIT=np.array([wait], np.uint32),
    )


@pytest.mark.parametrize("values", [[], [7], [4, 5, 6]])
def test_repeat_answers_once_for_each_element(values: list[int]) -> None:
    request = repeat_request(values)
    ask(loaded("repeat", REPEAT), request)
    answers = [tuple(int(array[0]) for array in r.arrays) for r in request.sent if r is not None]
    assert answers == [(value, index) for index, value in enumerate(values)]


def test_repeat_refuses_shapes_that_differ() -> None:
    request = repeat_request([1, 2], [1])
    ask(loaded("repeat", REPEAT), request)
    (response,) = request.sent
    assert response is not None
    assert str(response.error) == "expected IN and DELAY shape to match, got [2] and [1]"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            ("input [", "max_batch_size: 2 input ["),
            "repeat backend only supports models with max_batch_size == 0",
        ),
        (('"IN"', '"X"'), "expected first input tensor name to be IN, got X"),
        (
            ('"DELAY" data_type: TYPE_UINT32', '"DELAY" data_type: TYPE_INT32'),
            "expected DELAY datatype to be UINT32, got TYPE_INT32",
        ),
        (
            (
                '"WAIT" data_type: TYPE_UINT32 dims: [ 1 ]',
                '"WAIT" data_type: TYPE_UINT32 dims: [ 2 ]',
            ),
            "expected WAIT shape to be [1], got [2]",
        ),
    ],
)
def test_repeat_wants_its_tensors(change: tuple[str, str], reason: str) -> None:
    with pytest.raises(LoadFailed) as caught:
        loaded("repeat", REPEAT.replace(*change))
    assert str(caught.value) == reason


def test_square_answers_n_times_n() -> None:
    request = Recorder(("OUT",), IN=np.array([[3]], np.int32))
    ask(loaded("square", SQUARE), request)
    assert [r.arrays[0].tolist() for r in request.sent if r is not None] == [[[3]]] * 3


def test_square_fails_and_leaves_out_the_last_answers_when_told_to() -> None:
    model = loaded("square", SQUARE, CUSTOM_FAIL_COUNT="2", CUSTOM_EMPTY_COUNT="1")
    request = Recorder(("OUT",), IN=np.array([4], np.int32))
    ask(model, request)
    errors = [str(r.error) if r is not None and r.error else "" for r in request.sent]
    assert errors == ["", "simulated failure", "simulated failure"]
    assert request.skipped == 1

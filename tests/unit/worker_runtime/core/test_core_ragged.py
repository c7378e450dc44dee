"""Ragged batches: what the model sees of them, and how its outputs are cut."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.execution.choice import whole_batches
from worker_runtime.core.execution.ragged import batch_input, scattered
from worker_runtime.core.plans import Planner
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import BackendFailed
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import (
    BatchInput,
    BatchInputKind,
    BatchTensors,
    Signature,
    TensorSpec,
)
from worker_runtime.types.tensor import BY_NAME

FP32, INT32 = BY_NAME["FP32"], BY_NAME["INT32"]
SHAPES = [(1, 3), (2, 2), (1, 1)]
KINDS: list[tuple[BatchInputKind, Any]] = [
    (BatchInputKind.ELEMENT_COUNT, [3, 4, 1]),
    (BatchInputKind.ACCUMULATED_ELEMENT_COUNT, [3, 7, 8]),
    (BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO, [0, 3, 7, 8]),
    (BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE, [0, 0, 0, 0]),
    (BatchInputKind.ITEM_SHAPE, [[3], [2], [2], [1]]),
    (BatchInputKind.ITEM_SHAPE_FLATTEN, [3, 2, 2, 1]),
]


@pytest.mark.parametrize(("kind", "expected"), KINDS)
@pytest.mark.parametrize("datatype", [FP32, INT32])
def test_tensors_about_a_batch(kind: BatchInputKind, expected: Any, datatype: Any) -> None:
    array = batch_input(BatchInput(kind, ("t",), datatype, "x"), SHAPES)
    assert array.tolist() == expected
    assert array.dtype == datatype.dtype


def test_a_flat_output_is_cut_by_the_shapes_of_an_input() -> None:
    pieces = scattered("y", np.arange(8), (-1,), SHAPES)
    assert [piece.tolist() for piece in pieces] == [[[0, 1, 2]], [[3, 4], [5, 6]], [[7]]]
    with pytest.raises(BackendFailed, match="too few"):
        scattered("y", np.arange(7), (-1,), SHAPES)


class Model:
    """Keeps what it is fed; gives the flat input back, and row numbers."""

    def __init__(self) -> None:
        self.fed: dict[str, Any] = {}

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.fed = {name: array.tolist() for name, array in inputs.items()}
        made = {"flat": inputs["x"], "rows": np.arange(4, dtype=np.float32).reshape(4, 1)}
        return [made[name] for name in outputs]


def test_a_ragged_batch_reaches_the_model_flat_and_comes_back_per_request() -> None:
    signature = Signature(
        "m",
        8,
        (TensorSpec("x", FP32, (-1,), ragged=True), TensorSpec("k", FP32, (1,))),
        (TensorSpec("flat", FP32, (-1,)), TensorSpec("rows", FP32, (1,))),
    )
    tensors = BatchTensors(
        (BatchInput(BatchInputKind.ELEMENT_COUNT, ("n",), INT32, "x"),), (("flat", "x"),)
    )
    sink, planner, model = RecordingSink(), Planner(signature), Model()
    executor = whole_batches(signature, Answers(Statistics()), tensors)
    batch = []
    for name, shape in zip("abc", SHAPES, strict=True):
        outputs = ("rows",) if name == "c" else None
        plan = planner.plan((("x", "FP32", shape), ("k", "FP32", (shape[0], 1))), outputs)
        data = [np.ones(shape, np.float32).tobytes(), np.zeros((shape[0], 1), np.float32).tobytes()]
        batch.append(InferRequest(plan=plan, inputs=data, sink=sink, id=name))
    assert len({id(request.plan.batch_key) for request in batch}) == 1, "they may share a batch"
    executor.settle(batch, *executor.attempt(model, batch))
    assert model.fed == {"x": [1.0] * 8, "k": [[0.0]] * 4, "n": [3, 4, 1]}
    answers = {name: [array.tolist() for array in arrays] for name, arrays in sink.delivered}
    assert answers == {
        "a": [[[1.0] * 3], [[0.0]]],
        "b": [[[1.0] * 2] * 2, [[1.0], [2.0]]],
        "c": [[[3.0]]],
    }


def test_requests_that_want_other_outputs_share_a_batch() -> None:
    signature = Signature(
        "m",
        8,
        (TensorSpec("x", FP32, (1,)),),
        (TensorSpec("flat", FP32, (1,)), TensorSpec("rows", FP32, (1,))),
    )
    sink, planner = RecordingSink(), Planner(signature)
    executor = whole_batches(signature, Answers(Statistics()), None)
    batch = []
    for name, outputs in (("a", ("rows",)), ("b", None), ("c", ("flat",))):
        rows = 2 if name == "b" else 1
        plan = planner.plan((("x", "FP32", (rows, 1)),), outputs)
        data = [np.full((rows, 1), 7, np.float32).tobytes()]
        batch.append(InferRequest(plan=plan, inputs=data, sink=sink, id=name))
    assert len({id(request.plan.batch_key) for request in batch}) == 1
    executor.settle(batch, *executor.attempt(Model(), batch))
    answers = {name: [array.tolist() for array in arrays] for name, arrays in sink.delivered}
    assert answers == {
        "a": [[[0.0]]],
        "b": [[[7.0], [7.0]], [[1.0], [2.0]]],
        "c": [[[7.0]]],
    }

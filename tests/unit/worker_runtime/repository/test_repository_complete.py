"""Auto-completion from graphs, as a table of graph + configuration -> effective configuration."""

from dataclasses import dataclass, field

import pytest

from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.complete import complete
from worker_runtime.repository.locate import places
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.graph import GraphTensor, ModelGraph


def model(x: tuple[int | str, ...], y: tuple[int | str, ...]) -> ModelGraph:
    return ModelGraph((GraphTensor("x", "FP32", x),), (GraphTensor("y", "FP32", y),))


@dataclass(frozen=True)
class Case:
    name: str
    graph: ModelGraph
    text: str
    max_batch: int
    input_dims: list[int]
    output_dims: list[int] = field(default_factory=lambda: [2])
    dynamic: bool = False
    provenance: str = "model"


CASES = [
    Case(
        "symbolic first dims batch",
        model(("N", 3), ("N", 2)),
        "",
        4,
        [3],
        dynamic=True,
        provenance="default",
    ),
    Case(
        "unnamed first dims batch",
        model((-1, 3), (-1, 2)),
        "",
        4,
        [3],
        dynamic=True,
        provenance="default",
    ),
    Case("a fixed first dim does not", model((1, 3), (1, 2)), "", 0, [1, 3], [1, 2]),
    Case("one fixed output is enough", model(("N", 3), (1, 2)), "", 0, [-1, 3], [1, 2]),
    Case(
        "symbolic inner dims are variable",
        model(("N", "len"), ("N", 2)),
        "",
        4,
        [-1],
        dynamic=True,
        provenance="default",
    ),
    Case(
        "an explicit 0 is kept",
        model(("N", 3), ("N", 2)),
        "max_batch_size: 0",
        0,
        [-1, 3],
        [-1, 2],
        provenance="config",
    ),
    Case(
        "an explicit size is kept",
        model(("N", 3), ("N", 2)),
        "max_batch_size: 32",
        32,
        [3],
        provenance="config",
    ),
    Case(
        "scheduling that is there is kept",
        model(("N", 3), ("N", 2)),
        "dynamic_batching { max_queue_delay_microseconds: 5 }",
        4,
        [3],
        dynamic=True,
        provenance="default",
    ),
    Case(
        "dims with the batch axis spelled out mean no batching",
        model(("N", 3), ("N", 2)),
        'input { name: "x" data_type: TYPE_FP32 dims: [-1, 3] }',
        0,
        [-1, 3],
        [-1, 2],
    ),
    Case(
        "dims without it batch",
        model(("N", 3), ("N", 2)),
        'input { name: "x" data_type: TYPE_FP32 dims: [3] }',
        4,
        [3],
        dynamic=True,
        provenance="default",
    ),
    Case(
        "missing data types come from the graph",
        model(("N", 3), ("N", 2)),
        'input { name: "x" dims: [3] }',
        4,
        [3],
        dynamic=True,
        provenance="default",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_complete(case: Case) -> None:
    config = parse(case.text)
    provenance = complete(config, case.graph, max_batch_given="max_batch_size" in places(case.text))
    assert config.max_batch_size == case.max_batch
    assert list(config.input[0].dims) == case.input_dims
    assert list(config.output[0].dims) == case.output_dims
    assert config.input[0].data_type == config.output[0].data_type == 11
    assert config.HasField("dynamic_batching") == case.dynamic
    assert provenance["max_batch_size"] == case.provenance


def test_scalars_get_one_dim_and_an_empty_reshape() -> None:
    config = parse("")
    complete(config, model((), ()), max_batch_given=False)
    assert list(config.input[0].dims) == [1]
    assert config.input[0].HasField("reshape")
    assert not config.input[0].reshape.shape


BAD = [
    ('input { name: "z" dims: [3] }', "unexpected input 'z': the model has 'x'"),
    (
        'input { name: "x" data_type: TYPE_INT8 dims: [3] }',
        "says data_type TYPE_INT8, the model has TYPE_FP32",
    ),
    ('input { name: "x" dims: [4] }', r"the model expects 1 dimensions \(shape \[3\]\) but"),
    ('input { name: "x" dims: [3, 3, 3] }', "the model expects 1 dimensions"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_contradictions_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigInvalid, match=message):
        complete(parse(text), model(("N", 3), ("N", 2)), max_batch_given=False)


def test_batching_needs_a_variable_axis() -> None:
    with pytest.raises(ConfigInvalid, match="max_batch_size is 8, expected 0"):
        complete(parse("max_batch_size: 8"), model((1, 3), (1, 2)), max_batch_given=True)

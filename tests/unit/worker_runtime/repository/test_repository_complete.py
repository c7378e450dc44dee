"""Auto-completion from graphs, as a table of graph + configuration -> effective configuration."""

from dataclasses import dataclass, field

import pytest

from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.complete import check_graph, complete, scalars
from worker_runtime.repository.pbtxt import parse, places
from worker_runtime.types.signature import GraphTensor, ModelGraph


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
        dynamic=True,
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


def test_nothing_is_completed_when_inputs_and_outputs_are_given() -> None:
    text = 'input { name: "x" dims: [3] } output { name: "y" data_type: TYPE_FP32 dims: [2] }'
    config = parse(text)
    complete(config, model(("N", 3), ("N", 2)), max_batch_given=False)
    assert config == parse(text)


def test_preferred_sizes_and_idle_times_follow_the_size_that_was_found() -> None:
    config = parse("")
    complete(config, model(("N", 3), ("N", 2)), max_batch_given=False)
    assert list(config.dynamic_batching.preferred_batch_size) == [4]


@pytest.mark.parametrize(("text", "batched"), [("", False), ("max_batch_size: 2", True)])
def test_scalars_get_one_dim(text: str, batched: bool) -> None:
    config = parse(text)
    graph = model(("N",), ("N",)) if batched else model((), ())
    complete(config, graph, max_batch_given=True)
    assert list(config.input[0].dims) == [1]
    assert config.input[0].HasField("reshape") == batched
    assert scalars(config, graph) == (frozenset() if batched else {"x", "y"})


def test_what_the_server_feeds_itself_is_not_completed() -> None:
    graph = ModelGraph(
        tuple(GraphTensor(n, "FP32", ("N", 1)) for n in ("x", "START", "state_in")),
        tuple(GraphTensor(n, "FP32", ("N", 1)) for n in ("y", "state_out")),
    )
    config = parse(
        "max_batch_size: 4 sequence_batching { control_input { name: 'START' } "
        "state { input_name: 'state_in' output_name: 'state_out' } }"
    )
    complete(config, graph, max_batch_given=True)
    check_graph(config, graph)
    assert [item.name for item in config.input] == ["x"]
    assert [item.name for item in config.output] == ["y"]


Y = 'output { name: "y" data_type: TYPE_FP32 dims: [2] }'
X = 'input { name: "x" data_type: TYPE_FP32 dims: [3] }'
# The words of Triton's ONNX Runtime backend.
BAD = [
    (
        'input { name: "z" data_type: TYPE_FP32 dims: [3] }' + Y,
        "unexpected inference input 'z', allowed inputs are: x",
    ),
    (
        X + 'output { name: "z" data_type: TYPE_FP32 dims: [3] }',
        "unexpected inference output 'z', allowed outputs are: y",
    ),
    (
        X.replace("x", "x2") + X + Y,
        "unable to load model 'm', configuration expects 2 inputs, model provides 1",
    ),
    (
        'input { name: "x" data_type: TYPE_STRING dims: [3] }' + Y,
        "unable to load model 'm', configuration expects datatype TYPE_STRING for input 'x', model "
        "provides TYPE_FP32",
    ),
    (
        X + 'output { name: "y" data_type: TYPE_BF16 dims: [2] }',
        "unsupported datatype TYPE_BF16 for output 'y' for model 'm'",
    ),
    (
        X.replace("[3]", "[4]") + Y,
        "model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the model "
        "configuration specifies 2 dimensions (an initial batch dimension because max_batch_size "
        "> 0 followed by the explicit tensor shape, making complete shape [-1,4])",
    ),
    (
        X.replace("[3]", "[-1]") + Y,
        "model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the model "
        "configuration specifies 2 dimensions (an initial batch dimension because max_batch_size "
        "> 0 followed by the explicit tensor shape, making complete shape [-1,-1])",
    ),
    (
        X.replace("}", "optional: true }") + Y,
        "unable to load model 'm', configuration expects 0 inputs, model provides 1",
    ),
    (
        X.replace("}", "allow_ragged_batch: true }") + Y,
        "unable to load model 'm', configuration expects model provides input with shape [-1]  for "
        "ragged input 'x', model provides [-1,3]",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_contradictions_are_refused(text: str, message: str) -> None:
    config = parse(f'name: "m" max_batch_size: 4 {text}')
    with pytest.raises(ConfigInvalid) as raised:
        check_graph(config, model(("N", 3), ("N", 2)))
    assert str(raised.value) == message


def test_contradictions_without_batching() -> None:
    config = parse(f'name: "m" {X}{Y}')
    with pytest.raises(ConfigInvalid) as raised:
        check_graph(config, model(("N", 3), ("N", 2)))
    assert str(raised.value) == (
        "model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the model "
        "configuration specifies 1 dimensions (shape [3])"
    )


def test_scalars_are_configured_with_ones() -> None:
    with pytest.raises(ConfigInvalid, match=r"scalar tensor 'x', should only provide 1 in the"):
        check_graph(parse(f'name: "m" {X}{Y}'), model((), ()))


def test_batching_needs_a_variable_axis() -> None:
    with pytest.raises(ConfigInvalid) as raised:
        complete(parse('name: "m" max_batch_size: 8'), model((1, 3), (1, 2)), max_batch_given=True)
    assert str(raised.value) == (
        "autofill failed for model 'm': model does not support batching while non-zero "
        "max_batch_size is specified"
    )
    config = parse(f'name: "m" max_batch_size: 8 {X}{Y}')
    with pytest.raises(ConfigInvalid, match=r"the first dimension must be -1; but shape expected"):
        check_graph(config, model((1, 3), (1, 2)))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "max_batch_size: 4 " + X.replace("[3]", "[-1, 3]"),
            "write dims: [3], or max_batch_size: 0",
        ),
        (X, "write dims: [-1, 3], or set max_batch_size"),
    ],
)
def test_a_batch_axis_in_the_wrong_place_is_explained(text: str, hint: str) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        check_graph(parse(f'name: "m" {text}{Y}'), model(("N", 3), ("N", 2)))
    assert hint in raised.value.problems[0].hint


def test_an_optional_input_may_be_a_value_of_the_graph() -> None:
    graph = ModelGraph(
        (GraphTensor("x", "FP32", (3,)),),
        (GraphTensor("y", "FP32", (2,)),),
        initializers=(GraphTensor("w", "FP32", (3,)),),
    )
    optional = 'input { name: "w" data_type: TYPE_FP32 dims: [3] optional: true }'
    check_graph(parse(f'name: "m" {X}{optional}{Y}'), graph)


ENGINE = 'name: "m" backend: "tensorrt" max_batch_size: 4'
RESIZED = ModelGraph(
    (GraphTensor("x", "FP32", (-1, 3)), GraphTensor("to", "INT32", (2,), shape_tensor=True)),
    (GraphTensor("y", "FP32", (-1, -1)), GraphTensor("seen", "INT32", (2,), shape_tensor=True)),
)


@pytest.mark.parametrize(("batch", "values"), [(4, [1]), (0, [2])])
def test_shape_tensors_leave_the_batch_out(batch: int, values: list[int]) -> None:
    config = parse(f'name: "m" max_batch_size: {batch} input {{ name: "to" }}')
    complete(config, RESIZED, max_batch_given=True)
    found = {item.name: item for item in (*config.input, *config.output)}
    assert [name for name, item in found.items() if item.is_shape_tensor] == ["to", "seen"]
    assert [list(found[name].dims) for name in ("to", "seen")] == [values, values]
    check_graph(config, RESIZED)


@pytest.mark.parametrize(
    ("to", "text", "field"),
    [
        ("dims: [1]", "'to' is incorrectly specified as an execution tensor.", "is_shape_tensor"),
        (
            "dims: [2] is_shape_tensor: true",
            r"shape tensor 'to': the model expects \[1\] but the model .* \[2\] values",
            "dims",
        ),
    ],
)
def test_shape_tensors_that_are_written_wrongly(to: str, text: str, field: str) -> None:
    x = 'input { name: "x" data_type: TYPE_FP32 dims: [3] }'
    config = parse(f'{ENGINE} {x} input {{ name: "to" data_type: TYPE_INT32 {to} }}')
    with pytest.raises(ConfigInvalid, match=text) as raised:
        check_graph(config, RESIZED)
    assert raised.value.problems[0].field == f"input[1].{field}"


def test_a_tensor_that_is_no_shape_tensor_must_not_be_called_one() -> None:
    config = parse(f"{ENGINE} {X.replace('}', 'is_shape_tensor: true }')}{Y}")
    with pytest.raises(ConfigInvalid, match=r"^'x' is incorrectly specified as a shape tensor\.$"):
        check_graph(config, model(("N", 3), ("N", 2)))

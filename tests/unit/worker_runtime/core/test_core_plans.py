"""Request forms against a signature: what is accepted, and the words for what is not."""

import pytest

from worker_runtime.core.plans import Planner
from worker_runtime.errors import InvalidArgument
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME


def spec(name: str, datatype: str, *dims: int, **options: object) -> TensorSpec:
    return TensorSpec(name, BY_NAME[datatype], dims, **options)  # type: ignore[arg-type]


SIMPLE = Signature(
    "simple", 8, (spec("A", "INT32", 16), spec("B", "INT32", -1)), (spec("X", "INT32", 16),)
)
GOOD = (("A", "INT32", (2, 16)), ("B", "INT32", (2, 3)))


def test_a_good_form_gives_rows_and_byte_sizes() -> None:
    plan = Planner(SIMPLE).plan(GOOD, None)
    assert plan.rows == 2
    assert [item.byte_size for item in plan.inputs] == [128, 24]
    assert plan.outputs == ("X",)
    assert plan.order is None


def test_inputs_are_brought_into_configuration_order() -> None:
    plan = Planner(SIMPLE).plan(GOOD[::-1], None)
    assert [item.name for item in plan.inputs] == ["A", "B"]
    assert plan.order == (1, 0)


def test_requests_of_one_shape_share_a_batch_key_whatever_their_rows() -> None:
    planner = Planner(SIMPLE)
    two = planner.plan(GOOD, None)
    one = planner.plan((("A", "INT32", (1, 16)), ("B", "INT32", (1, 3))), None)
    wide = planner.plan((("A", "INT32", (1, 16)), ("B", "INT32", (1, 4))), None)
    assert one.batch_key is two.batch_key
    assert wide.batch_key is not one.batch_key


NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be "
    "prepended to each input shape. If you want to specify the full shape including the batch dim "
    "in your input dims config, try setting max_batch_size to zero. See the model configuration "
    "docs for more info on max_batch_size."
)
MISSING = "Please provide all required input(s)."


def form(*items: tuple[object, ...]) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    return tuple((str(n), str(t), s) for n, t, s in items)  # type: ignore[misc]


# What Triton 2.51 answers to the same requests.
BAD = [
    (form(("A", "INT32", (1, 16)), ("C", "INT32", (1, 3))), None,
     "unexpected inference input 'C' for model 'simple'"),
    ((), None, "expected 2 inputs but got 0 inputs for model 'simple'. Got input(s) [], but "
     f"missing required input(s) ['A','B']. {MISSING}"),
    (form(("A", "INT32", (1, 16))), None, "expected 2 inputs but got 1 inputs for model 'simple'. "
     f"Got input(s) ['A'], but missing required input(s) ['B']. {MISSING}"),
    ((*GOOD, *form(("X", "INT32", (2, 1)))), None, "expected 2 inputs but got 3 inputs for model "
     f"'simple'. Got input(s) ['X','B','A'], but missing required input(s) ]. {MISSING}"),
    (form(("A", "FP32", (9, 16)), ("B", "INT32", (9, 3))), None,
     "inference request batch-size must be <= 8 for 'simple'"),
    (form(("A", "FP32", (2, 16)), GOOD[1]), None,
     "inference input 'A' data-type is 'FP32', but model 'simple' expects 'INT32'"),
    (form(("A", "FP32", (2, 16)), ("B", "INT8", (2, 3))), None,
     "inference input 'B' data-type is 'INT8', but model 'simple' expects 'INT32'"),
    (form(("A", "FOO", (2, 16)), GOOD[1]), None,
     "inference input 'A' data-type is '<invalid>', but model 'simple' expects 'INT32'"),
    (form(("A", "INT32", (2, 15)), GOOD[1]), None,
     f"unexpected shape for input 'A' for model 'simple'. Expected [-1,16], got [2,15]. {NOTE}"),
    (form(("A", "INT32", (16,)), ("B", "INT32", (16, 3))), None,
     "inference request batch-size must be <= 8 for 'simple'"),
    (form(("A", "INT32", (0, 16)), ("B", "INT32", (0, 3))), None,
     "input byte size mismatch for input 'B' for model 'simple'. Expected 12, got 0"),
    (form(("A", "INT32", (1, 16)), ("B", "INT32", (2, 3))), None,
     "input 'A' batch size does not match other inputs for 'simple'"),
    (form(("A", "INT32", ()), GOOD[1]), None,
     "input 'A' has no shape but model requires batch dimension for 'simple'"),
    (form(GOOD[0], GOOD[0], GOOD[1]), None, "input 'A' already exists in request"),
    (form(("A", "INT32", (2, 16)), ("B", "INT32", (2, -1))), None,
     "All input dimensions should be specified for input 'B' for model 'simple', got [2,-1]"),
    (GOOD, ("Y",), "unexpected inference output 'Y' for model 'simple'"),
    (GOOD[:1], ("Y",), "unexpected inference output 'Y' for model 'simple'"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "outputs", "text"), BAD, ids=[text[:60] for *_, text in BAD])
def test_a_bad_form_is_refused_in_tritons_words(inputs: object, outputs: object, text: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        Planner(SIMPLE).plan(inputs, outputs)  # type: ignore[arg-type]
    assert str(raised.value) == text


def test_only_names_are_told_without_the_request() -> None:
    with pytest.raises(InvalidArgument) as raised:
        Planner(SIMPLE).plan(GOOD, ("Y",))
    assert str(raised.value.for_request("abc")).startswith("unexpected inference output")
    with pytest.raises(InvalidArgument) as raised:
        Planner(SIMPLE).plan(GOOD[:1], None)
    assert str(raised.value.for_request("abc")).startswith("[request id: abc] expected 2 inputs")


OPTIONAL = Signature(
    "opt",
    0,
    (
        spec("IA", "INT32", 1),
        spec("IB", "INT32", 1, optional=True),
        spec("IC", "INT32", 1, optional=True),
    ),
    (spec("X", "INT32", 1),),
)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), f"Got input(s) [], but missing required input(s) ['IA']. {MISSING}"),
        (("IB",), f"Got input(s) ['IB'], but missing required input(s) ['IA']. {MISSING}"),
        (
            ("IA", "IB", "IC", "ID"),
            "expected number of inputs between 1 and 3 but got 4 inputs for model 'opt'. Got "
            f"input(s) ['ID','IC','IB','IA'], but missing required input(s) ]. {MISSING}",
        ),
        (("IA", "ID"), "unexpected inference input 'ID' for model 'opt'"),
    ],
)
def test_optional_inputs_are_counted(names: tuple[str, ...], text: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        Planner(OPTIONAL).plan(tuple((name, "INT32", (1,)) for name in names), None)
    assert str(raised.value).endswith(text)


def test_a_shape_that_does_not_fit_without_batching() -> None:
    with pytest.raises(InvalidArgument) as raised:
        Planner(OPTIONAL).plan((("IA", "INT32", ()),), None)
    # The blank at the end is Triton's.
    assert str(raised.value) == (
        "unexpected shape for input 'IA' for model 'opt'. Expected [1], got []. "
    )


def test_empty_tensors_are_fine_as_long_as_there_is_a_batch() -> None:
    signature = Signature("m", 4, (spec("A", "FP32", -1, 2),), (spec("X", "FP32", 1),))
    plan = Planner(signature).plan((("A", "FP32", (2, 0, 2)),), None)
    assert (plan.rows, plan.inputs[0].byte_size) == (2, 0)


def test_a_request_without_any_input_is_one_row() -> None:
    signature = Signature("m", 4, (spec("A", "FP32", 2, optional=True),), (spec("X", "FP32", 1),))
    plan = Planner(signature).plan((), None)
    assert (plan.rows, plan.inputs) == (1, ())


def test_a_shape_tensor_has_no_batch_axis() -> None:
    signature = Signature(
        "m",
        4,
        (spec("A", "FP32", 2), spec("S", "INT32", 3, shape_tensor=True)),
        (spec("X", "FP32", 1),),
    )
    plan = Planner(signature).plan((("A", "FP32", (3, 2)), ("S", "INT32", (3,))), None)
    assert plan.rows == 3
    assert plan.inputs[1].shape == (3,)


def test_optional_inputs_may_be_left_out() -> None:
    signature = Signature(
        "m", 0, (spec("A", "FP32", 1), spec("B", "FP32", 1, optional=True)), (spec("X", "FP32", 1),)
    )
    assert Planner(signature).plan((("A", "FP32", (1,)),), None).rows == 1


def test_reshape_changes_what_the_model_sees_only() -> None:
    signature = Signature("m", 4, (spec("A", "FP32", 1, reshape=()),), (spec("X", "FP32", 1),))
    (item,) = Planner(signature).plan((("A", "FP32", (3, 1)),), None).inputs
    assert item.wire_shape == (3, 1)
    assert item.shape == (3,)


def test_variable_sizes_pass_through_a_reshape_in_order() -> None:
    spec_ = spec("A", "FP32", -1, 2, -1, reshape=(-1, 1, 2, -1))
    signature = Signature("m", 0, (spec_,), (spec("X", "FP32", 1),))
    (item,) = Planner(signature).plan((("A", "FP32", (5, 2, 7)),), None).inputs
    assert item.shape == (5, 1, 2, 7)


def test_the_cache_is_bounded() -> None:
    planner = Planner(Signature("m", 0, (spec("A", "FP32", -1),), (spec("X", "FP32", 1),)))
    for size in range(3000):
        planner.plan((("A", "FP32", (size,)),), None)
    assert len(planner._plans) <= 1024

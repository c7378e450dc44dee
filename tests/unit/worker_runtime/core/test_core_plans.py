"""Request forms against a signature: what is accepted, and the words for what is not."""

import re

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


BAD = [
    ((("A", "INT32", (1, 16)), ("C", "INT32", (1, 3))), None, "unexpected inference input 'C'"),
    ((("A", "INT32", (1, 16)),), None, "expected 2 inputs but got 1 inputs for model 'simple'"),
    ((("A", "FP32", (2, 16)), GOOD[1]), None, "data-type is 'FP32', but model 'simple' expects"),
    ((("A", "INT32", (2, 15)), GOOD[1]), None, "Expected [-1,16], got [2,15]. NOTE: Setting"),
    ((("A", "INT32", (16,)), ("B", "INT32", (16, 3))), None, "must be <= 8"),
    ((("A", "INT32", (9, 16)), ("B", "INT32", (9, 3))), None, "batch-size must be <= 8"),
    ((("A", "INT32", (0, 16)), ("B", "INT32", (0, 3))), None, "batch-size must be >= 1"),
    ((("A", "INT32", (1, 16)), ("B", "INT32", (2, 3))), None, "'B' batch size does not match"),
    ((("A", "INT32", ()), GOOD[1]), None, "has no shape but model requires batch dimension"),
    ((GOOD[0], GOOD[0], GOOD[1]), None, "input 'A' already exists in request"),
    ((("A", "INT32", (2, 16)), ("B", "INT32", (2, -1))), None, "unexpected shape for input 'B'"),
    (GOOD, ("Y",), "unexpected inference output 'Y' for model 'simple'"),
]


@pytest.mark.parametrize(("inputs", "outputs", "text"), BAD, ids=[text for *_, text in BAD])
def test_a_bad_form_is_refused_in_plain_words(inputs: object, outputs: object, text: str) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(text)):
        Planner(SIMPLE).plan(inputs, outputs)  # type: ignore[arg-type]


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

"""Outputs as their highest values: order, text, labels, limits."""

import itertools
from typing import Any

import numpy as np
import pytest

from worker_runtime.core.classification import (
    classify,
    classify_in_slices,
    given_back,
    takes_long,
)
from worker_runtime.errors import InvalidArgument
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

LABELS = ("cat", "dog", "", "fish")


def of(datatype: str, values: Any, count: int, *, batch: int = 0, labels: Any = LABELS) -> Any:
    spec = TensorSpec("y", BY_NAME[datatype], (-1,), labels=labels)
    array = np.array(values, dtype=BY_NAME[datatype].dtype)
    return classify(Signature("m", batch, (), (spec,)), "y", array, count)


@pytest.mark.parametrize(
    ("datatype", "values", "count", "expected"),
    [
        ("UINT8", [1, 255, 7, 255], 3, [b"255:1:dog", b"255:3:fish", b"7:2"]),
        ("INT8", [-128, 127, 0], 9, [b"127:1:dog", b"0:2", b"-128:0:cat"]),
        ("UINT64", [2**64 - 1, 2**64 - 2], 2,
         [b"18446744073709551615:0:cat", b"18446744073709551614:1:dog"]),
        ("FP32", [0.1, 2.0], 1, [b"2.000000:1:dog"]),
        ("FP64", [0.1, 1e-9, 123456789.123456789, -0.0], 4,
         [b"123456789.123457:2", b"0.100000:0:cat", b"0.000000:1:dog", b"-0.000000:3:fish"]),
        ("FP64", [float("nan"), float("inf"), float("-inf")], 3,
         [b"inf:1:dog", b"-inf:2", b"nan:0:cat"]),
        ("FP32", [1, 1, 1, 1, 2], 5,
         [b"2.000000:4", b"1.000000:0:cat", b"1.000000:1:dog", b"1.000000:2", b"1.000000:3:fish"]),
    ],
)  # fmt: skip
def test_values_and_labels(datatype: str, values: Any, count: int, expected: list[bytes]) -> None:
    assert of(datatype, values, count).tolist() == expected


def test_a_batch_has_a_row_of_classes_for_each_of_its_own() -> None:
    found = of("FP32", [[[1, 2], [3, 4]], [[8, 7], [6, 5]]], 2, batch=4)
    assert found.tolist() == [
        [b"4.000000:3:fish", b"3.000000:2"],
        [b"8.000000:0:cat", b"7.000000:1:dog"],
    ]
    assert found.dtype == object


@pytest.mark.parametrize(("shape", "expected"), [((0,), (0,)), ((2, 0), (2, 0)), ((0, 3), (0, 0))])
def test_nothing_has_no_classes(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    found = of("FP32", np.zeros(shape), 3, batch=4 if len(shape) > 1 else 0)
    assert found.shape == expected


@pytest.mark.parametrize("datatype", ["BOOL", "FP16", "BYTES"])
def test_types_without_classes(datatype: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        of(datatype, [1, 0], 1)
    assert str(raised.value) == (
        f"class result not available for output due to unsupported type '{datatype}'"
    )


def test_too_many_elements() -> None:
    assert of("UINT8", np.zeros(1_000_000), 1).tolist() == [b"0:0:cat"]
    with pytest.raises(InvalidArgument, match="classification output tensor too large"):
        of("UINT8", np.zeros(1_000_001), 1)


@pytest.mark.parametrize("batch", [0, 2])
async def test_large_outputs_are_classified_in_slices(batch: int) -> None:
    """Sorted in a thread, and so many texts at once: nothing stops the loop for long."""
    values = np.random.default_rng(1).integers(0, 1000, 20_000).astype(np.float32)
    array = values.reshape(2, -1) if batch else values
    signature = Signature("m", batch, (), (TensorSpec("y", BY_NAME["FP32"], (-1,), labels=LABELS),))
    assert takes_long(array, 5000)
    steps, turns = classify_in_slices(signature, "y", array, 5000), 0
    while True:
        try:
            awaited = next(steps)
        except StopIteration as end:
            found = end.value
            break
        turns += 1
        if awaited is not None:
            await awaited
    expected = classify(signature, "y", array, 5000)
    assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())
    assert turns >= 5


def test_what_takes_long_has_many_elements_or_many_classes() -> None:
    """4,096 classes in one go took 5 ms."""
    assert takes_long(np.zeros(5000), 1)
    assert takes_long(np.zeros(4096), 4096)
    assert takes_long(np.zeros((4, 1000)), 300)
    assert not takes_long(np.zeros(4096), 5)
    assert not takes_long(np.zeros((4, 1000)), 5)
    assert not takes_long(np.zeros(1000), 1_000_000)


async def test_small_rows_of_a_large_batch_share_a_turn() -> None:
    spec = TensorSpec("y", BY_NAME["FP32"], (-1,), labels=LABELS)
    signature, array = Signature("m", 10_000, (), (spec,)), np.zeros((5000, 8), np.float32)
    steps, turns = classify_in_slices(signature, "y", array, 2), 0
    for _ in steps:
        turns += 1
    assert turns == 5000 * 2 // 1024


def test_a_million_texts_are_given_back_in_slices() -> None:
    array = np.full((2, 100_000), b"0:0", object)
    steps = given_back([array])
    left = [100_000 * 2]
    for _ in steps:
        left.append(int(np.count_nonzero(array)))
    assert left[-1] == 0
    assert max(before - now for before, now in itertools.pairwise(left)) <= 65_536

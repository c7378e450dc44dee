"""How answers are compared with expected ones, and how tensors of cases travel."""

import base64
import json
import math
from typing import Any

import numpy as np
import pytest

from answers import Distance, Tolerance, differences, distances
from answers.tensors import answer, array, arrays, raw, request


def tensor(datatype: str, shape: list[int], data: Any, name: str = "y") -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


ONE = Tolerance(relative=0.01, absolute=0.001)
TOLERANCE = Tolerance(relative=0.01, absolute=0.1)
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        (tensor("FP32", [2], [1, 2]), tensor("FP32", [2], [1.009, 1.981]), None),
        (tensor("FP32", [2], [1, 0]), tensor("FP32", [2], [1, 0.0009]), None),
        (
            tensor("FP32", [2], [1, 0]),
            tensor("FP32", [2], [1, 0.002]),
            "1 of 2 values differ [1]: 0.002, expected 0 ± 0.001",
        ),
        (
            tensor("FP32", [1, 3], [1, 2, 3]),
            tensor("FP32", [1, 3], [1.5, 9, 3]),
            "2 of 3 values differ, most of all [0, 1]: 9, expected 2 ± 0.021",
        ),
        (tensor("FP32", [1], ["NaN"]), tensor("FP32", [1], ["NaN"]), None),
        (tensor("FP32", [1], ["Infinity"]), tensor("FP32", [1], ["Infinity"]), None),
        (
            tensor("FP32", [2], [1, 2]),
            tensor("FP32", [2], [7, "NaN"]),
            "2 of 2 values differ, most of all [1]: nan, expected 2 ± 0.021",
        ),
        (tensor("FP16", [1], {"b64": "ADw="}), tensor("FP16", [1], [1.0]), None),
        (tensor("BF16", [1], {"b64": "gD8="}), tensor("BF16", [1], [1.0]), None),
        (
            tensor("INT64", [1], ["9007199254740993"]),
            tensor("INT64", [1], [9007199254740992]),
            "1 of 1 values differ [0]: 9007199254740992, expected 9007199254740993",
        ),
        (tensor("BOOL", [2], [True, False]), tensor("BOOL", [2], [True, False]), None),
        (
            tensor("BYTES", [2], ["cat", "dog"]),
            tensor("BYTES", [2], ["cat", "cow"]),
            "1 of 2 values differ [1]: 'cow', expected 'dog'",
        ),
        (tensor("FP32", [1], [1]), tensor("FP64", [1], [1]), "is FP64, expected FP32"),
        (
            tensor("FP32", [1, 2], [1, 2]),
            tensor("FP32", [2], [1, 2]),
            "has shape [2], expected [1, 2]",
        ),
        (tensor("FP32", [1], [1]), tensor("FP32", [1], [1], "other"), "was not answered"),
        (tensor("FP32", [0, 2], []), tensor("FP32", [0, 2], []), None),
    ],
)
def test_an_answer_is_compared(
    expected: dict[str, Any], got: dict[str, Any], told: str | None
) -> None:
    found = differences(arrays([expected]), arrays([got]), ONE)
    assert [one.text for one in found] == ([] if told is None else [told])


def test_further_outputs_are_no_matter() -> None:
    both = [tensor("FP32", [1], [1]), tensor("FP32", [1], [1], "more")]
    assert differences(arrays(both[:1]), arrays(both), Tolerance()) == []


@pytest.mark.parametrize("datatype", ["FP32", "FP16", "INT8", "UINT64", "BOOL"])
def test_a_call_has_the_bytes_that_were_kept(datatype: str) -> None:
    kept = tensor(datatype, [2], [1, 0], "x")
    content, headers = request([kept], {"priority": 1})
    head = int(headers["Inference-Header-Content-Length"])
    told = json.loads(content[:head])
    assert told["parameters"] == {"priority": 1, "binary_data_output": True}
    assert told["inputs"][0]["parameters"]["binary_data_size"] == len(content) - head
    assert array(datatype, [2], content[head:]).tolist() == [1, 0]
    assert raw({**kept, "data": {"b64": base64.b64encode(content[head:]).decode()}}) == raw(kept)


@pytest.mark.parametrize(
    ("datatype", "data"),
    [("FP8", [1]), ("FP32", ["cat"]), ("INT8", [300]), ("FP32", {}), ("FP32", None)],
)
def test_what_is_no_tensor_is_named(datatype: str, data: Any) -> None:
    with pytest.raises(ValueError, match=f"^y: no data of {datatype}: "):
        raw(tensor(datatype, [1], data))


def test_answers_are_read_in_binary_and_in_json() -> None:
    binary = np.array([[1.5, math.inf]], "<f4").tobytes()
    outputs = [
        {**tensor("FP32", [1, 2], None), "parameters": {"binary_data_size": len(binary)}},
        tensor("BYTES", [1], ["cat"], "label"),
    ]
    del outputs[0]["data"]
    head = json.dumps({"outputs": outputs}).encode()
    found = arrays(answer(head + binary, {"inference-header-content-length": str(len(head))}))
    assert found["y"][1].tolist() == [[1.5, math.inf]]
    assert found["label"][1].tolist() == [b"cat"]


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        (tensor("FP32", [2], [0.1, 0.9]), tensor("FP32", [2], [0.4, 0.6]), None),
        (
            tensor("FP32", [2], [0.1, 0.9]),
            tensor("FP32", [2], [0.6, 0.4]),
            "1 of 1 best classes differ [0]: 0, expected 1",
        ),
        (
            tensor("FP32", [2, 2], [0, 1, 0, 1]),
            tensor("FP32", [2, 2], [0, 1, 1, 0]),
            "1 of 2 best classes differ [1]: 0, expected 1",
        ),
        (tensor("FP32", [2], [0, 1]), tensor("FP32", [1], [0]), "has shape [1], expected [2]"),
        # what is no row of scores is compared by its values
        (
            tensor("FP32", [1], [1]),
            tensor("FP32", [1], [2]),
            "1 of 1 values differ [0]: 2, expected 1 ± 0.011",
        ),
        (
            tensor("INT64", [2], [1, 2]),
            tensor("INT64", [2], [1, 3]),
            "1 of 2 values differ [1]: 3, expected 2",
        ),
    ],
)
def test_of_scores_the_best_class_may_be_all_that_counts(
    expected: dict[str, Any], got: dict[str, Any], told: str | None
) -> None:
    found = differences(arrays([expected]), arrays([got]), ONE, by_class=True)
    assert [one.text for one in found] == ([] if told is None else [told])


@pytest.mark.parametrize(
    ("datatype", "content"),
    [("BYTES", b"\x05\x00\x00\x00abc"), ("BYTES", b"\x01"), ("FP8", b"1"), ("FP32", b"123")],
)
def test_bytes_that_are_no_such_tensor_are_refused(datatype: str, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        array(datatype, [1], content)


def apart(
    expected: Any, answered: Any, datatype: str = "FP32", tolerance: Tolerance = TOLERANCE
) -> Distance:
    kinds: dict[str, Any] = {"FP32": "f4", "INT64": "i8", "BOOL": "?", "BYTES": object}
    wanted, got = (np.array(one, kinds[datatype]) for one in (expected, answered))
    (found,) = distances({"y": (datatype, wanted)}, {"y": (datatype, got)}, tolerance)
    return found


def test_how_far_answers_are_apart_and_where() -> None:
    found = apart([[0.1, 0.7, 0.2]], [[0.6, 0.1, 0.2]])
    assert (found.values, found.wrong, found.at) == (3, 2, ((0, 1), (0, 0)))
    assert found.largest == pytest.approx(0.6)
    assert (found.rows, found.best, found.agrees) == (1, 0, False)
    assert found.tolerances == pytest.approx(0.6 / (0.1 + 0.01 * 0.7), rel=1e-3)


def test_within_the_tolerance_they_agree_and_the_largest_difference_is_told() -> None:
    found = apart([1.0, 2.0], [1.05, 2.0])
    assert (found.agrees, found.wrong, found.at, found.rows, found.best) == (True, 0, (), 1, 1)
    assert found.largest == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize(
    ("expected", "answered", "wrong", "largest", "tolerances"),
    [
        ([NAN, 1.0], [NAN, 1.0], 0, 0.0, 0.0),
        ([NAN, 1.0], [1.0, 1.0], 1, 0.0, INF),
        ([INF, 1.0], [INF, 1.55], 1, 0.55, 5.0),
        ([INF], [-INF], 1, None, INF),
        ([], [], 0, None, 0.0),
    ],
)
def test_what_is_no_finite_number(
    expected: list[float],
    answered: list[float],
    wrong: int,
    largest: float | None,
    tolerances: float,
) -> None:
    found = apart(expected, answered)
    assert found.wrong == wrong
    assert found.largest == (None if largest is None else pytest.approx(largest))
    assert found.tolerances == pytest.approx(tolerances, rel=1e-3)


@pytest.mark.parametrize(
    ("datatype", "expected", "answered", "largest"),
    [
        ("INT64", [1, 5], [1, 9], 4.0),
        ("BOOL", [True, False], [True, True], None),
        ("BYTES", [b"a", b"b"], [b"a", b"c"], None),
    ],
)
def test_what_is_no_floating_point_number_must_be_equal(
    datatype: str, expected: Any, answered: Any, largest: float | None
) -> None:
    found = apart(expected, answered, datatype)
    assert (found.wrong, found.largest, found.at, found.rows) == (1, largest, ((1,),), 0)
    assert apart(expected, expected, datatype).agrees


def test_of_many_wrong_values_the_farthest_are_told() -> None:
    found = apart([0.0] * 1000, [float(one) for one in range(1000)])
    assert found.at == tuple((999 - one,) for one in range(10))


def test_another_kind_of_tensor_is_told_and_nothing_else() -> None:
    one = {"y": ("FP32", np.zeros(3, "f4"))}
    assert distances(one, {}, TOLERANCE)[0].schema == "was not answered"
    other = {"y": ("FP32", np.zeros(4, "f4"))}
    assert distances(one, other, TOLERANCE)[0].schema == "has shape [4], expected [3]"
    assert not distances(one, other, TOLERANCE)[0].agrees


def test_a_tensor_without_axes() -> None:
    assert apart(1.0, 3.0).at == ((),)

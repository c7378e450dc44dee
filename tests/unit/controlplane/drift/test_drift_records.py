"""Captured records become features; whoever sent them may have written anything."""

import json
from random import Random
from typing import Any

import pytest

from controlplane.drift import Malformed, merged_summaries, summarised
from controlplane.drift.records import MOST_FEATURES
from wire.own_requests import OWN_REQUESTS


def tensor(name: str, shape: list[int], data: list[Any], datatype: str = "FP32") -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def lines(*records: Any) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


def test_columns_of_rows_are_features_and_other_tensors_are_one() -> None:
    record = {
        "inputs": [
            tensor("x", [2, 3], [1, 2, 3, 4, 5, 6]),
            tensor("who", [2, 1], ["ann", None], "BYTES"),
            tensor("image", [1, 2, 2], [1, 2, 3, 4]),
        ],
        "outputs": [tensor("y", [2], [0, 1], "INT64")],
    }
    found = summarised(lines(record, record), Random(1))
    assert found.records == 2
    assert {key: (one.kind, one.rows, one.count) for key, one in found.sketches.items()} == {
        "model_inputs/x[0]": ("number", 4, 4),
        "model_inputs/x[1]": ("number", 4, 4),
        "model_inputs/x[2]": ("number", 4, 4),
        "model_inputs/who": ("text", 4, 4),
        "model_inputs/image": ("number", 2, 8),
        "model_outputs/y": ("number", 2, 4),
    }
    assert sorted(found.sketches["model_inputs/x[1]"].values) == [2, 2, 5, 5]
    assert found.sketches["model_inputs/who"].missing == 2
    assert found.sketches["model_inputs/image"].shapes == {"1x2x2": 2}


def test_of_a_large_tensor_some_values_are_taken() -> None:
    record = {"inputs": [tensor("image", [1, 100, 100], list(range(10_000)))]}
    (found,) = summarised(lines(record), Random(1)).sketches.values()
    assert (found.rows, found.count) == (1, 64)


def test_omitted_tensors_are_no_data() -> None:
    record = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "omitted": "too large"}]}
    assert summarised(lines(record), Random(1)).sketches == {}


def test_there_are_only_so_many_features() -> None:
    record = {"inputs": [tensor(f"x{at}", [1], [at]) for at in range(MOST_FEATURES + 5)]}
    found = summarised(lines(record), Random(1))
    assert (len(found.sketches), found.untold) == (MOST_FEATURES, 5)
    other = {"inputs": [tensor("more", [1], [1])]}
    both = merged_summaries([found, summarised(lines(other), Random(2))])
    assert (len(both.sketches), both.records) == (MOST_FEATURES, 2)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"nothing", "line 1 is not JSON"),
        (b"\xff", "line 1 is not JSON"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (b"[]", "line 1: expected an object, got list"),
        (b'{"inputs": 3}', "line 1: inputs: expected a list of tensors"),
        (b'{"inputs": [3]}', "line 1: inputs: expected an object for each tensor"),
        (b'{"inputs": [{"name": 3}]}', "name: expected a text"),
        (rb'{"inputs": [{"name": "\ud83d"}]}', "name: expected a text"),
        (rb'{"inputs": [{"name": "a\u0000"}]}', "name: expected a text"),
        (b'{"inputs": [{"name": "x"}]}', r"x\.shape: expected a list of whole numbers"),
        (b'{"inputs": [{"name": "x", "shape": [-1], "data": []}]}', r"x\.shape"),
        (b'{"inputs": [{"name": "x", "shape": [true], "data": [1]}]}', r"x\.shape"),
        (b'{"inputs": [{"name": "x", "shape": [' + b"1," * 64 + b"1]}]}", "64 at most"),
        (b'{"inputs": [{"name": "x", "shape": [9999999], "data": [1]}]}', r"x\.data"),
        (b'{"inputs": [{"name": "x", "shape": [1], "data": ["a"]}]}', "expected numbers or null"),
        (b'{"inputs": [{"name": "x", "datatype": "BYTES", "shape": [1], "data": [1]}]}',
         "expected texts or null, got int"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused_by_its_line(line: bytes, told: str) -> None:
    with pytest.raises(Malformed, match=told):
        summarised([line], Random(1))


def test_texts_that_no_database_keeps_are_replaced() -> None:
    head = rb'{"inputs": [{"name": "x", "datatype": "BYTES", "shape": [2], '
    line = head + rb'"data": ["\ud83d", "\u0000"]}]}'
    (found,) = summarised([line], Random(1)).sketches.values()
    assert sorted(found.values) == ["?", "\ufffd"]


def test_numbers_beyond_all_bounds_do_no_harm() -> None:
    line = (
        b'{"inputs": [{"name": "x", "shape": [4], "data": [1e999, NaN, 1' + b"0" * 400 + b", 2]}]}"
    )
    (found,) = summarised([line], Random(1)).sketches.values()
    assert found.missing == 1
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("own", sorted(OWN_REQUESTS))
def test_what_shoal_asked_itself_is_no_data(own: str) -> None:
    ours = {"id": own, "inputs": [tensor("x", [1, 1], [9.0])]}
    found = summarised(lines(ours, {"inputs": [tensor("x", [1, 1], [1.0])]}), Random(1))
    assert (found.records, found.sketches["model_inputs/x"].high) == (1, 1.0)

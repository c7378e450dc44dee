"""Inputs that both versions are asked: saved and random ones in turn, each of them valid."""

import math
from typing import Any

import numpy as np
import pytest

from answers import array
from controlplane.console.inference import Call
from controlplane.console.tensors import DATATYPES, check_against
from controlplane.golden.inputs import inputs, random_call


def model(name: str = "net", **changes: Any) -> dict[str, Any]:
    tensor = {"name": "x", "datatype": "FP32", "shape": [-1, 3]}
    return {"name": name, "decoupled": False, "max_batch_size": 8, "inputs": [tensor], **changes}


@pytest.mark.parametrize("datatype", sorted(DATATYPES))
def test_a_random_input_is_what_the_model_takes(datatype: str) -> None:
    specification = model(inputs=[
        {"name": "x", "datatype": datatype, "shape": [-1, 2]},
        {"name": "length", "datatype": "INT64", "shape": [-1]},
        {"name": "more", "datatype": "FP32", "shape": [1], "optional": True},
    ])  # fmt: skip
    call = random_call(specification, np.random.default_rng(1))
    check_against(call.inputs, specification["inputs"], 8)
    x, length = call.inputs
    assert x.shape[1] == length.shape[1], "axes of any size often mean the same"
    assert array(x.datatype, x.shape, x.raw).size == math.prod(x.shape)


def test_saved_and_random_ones_in_turn_as_far_as_there_are_any() -> None:
    saved = {"net/two": Call("net", ())}
    sources = [source for source, _ in inputs([model()], saved, (), 1, 4)]
    assert sources == ["net/two", "net", "net/two", "net"]
    assert [one for one, _ in inputs([model()], saved, ["net"], 1, 2)] == ["net/two"] * 2
    assert [one for one, _ in inputs([model()], saved, ["net/two"], 1, 2)] == ["net"] * 2
    stream = model(decoupled=True)
    huge = model(inputs=[{"name": "x", "datatype": "FP32", "shape": [1 << 30]}])
    assert list(inputs([stream, huge], {}, (), 1, 2)) == []
    assert list(inputs([], {}, (), 1, 2)) == []

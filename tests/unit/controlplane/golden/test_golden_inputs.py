"""Inputs that both versions are asked: saved and random ones in turn, each of them valid."""

import math
from typing import Any

import numpy as np
import pytest

from answers import array
from controlplane.console.inference import Call
from controlplane.console.tensors import DATATYPES, check_against
from controlplane.golden.inputs import Input, inputs, random_call


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


def sources(*asked: Any) -> list[str]:
    return [one.source for one in inputs(*asked)]


def test_each_kind_has_its_turn_as_far_as_there_are_any() -> None:
    saved = {"net/two": Call("net", ())}
    clients = [Input("captured", f"client {number}", Call("net", ())) for number in range(2)]
    both = ["net/two", "net"] * 2
    assert sources([model()], saved, [], (), 0, 4) == both
    assert sources([model()], saved, clients, (), 0, 6) == [
        "net/two", "net", "client 0", "net/two", "net", "client 1",
    ]  # fmt: skip
    assert [sources([model()], saved, clients, (), 9, 1, asked)[0] for asked in range(4)] == [
        "net/two", "net", "client 0", "net/two",
    ]  # fmt: skip
    assert sources([], {}, clients, (), 0, 5) == ["client 0", "client 1"], "each of them once"
    assert sources([model()], saved, [], ["net"], 1, 2) == ["net/two"] * 2
    assert sources([model()], saved, [], ["net/two"], 1, 2) == ["net"] * 2
    stream = model(decoupled=True)
    huge = model(inputs=[{"name": "x", "datatype": "FP32", "shape": [1 << 30]}])
    assert sources([stream, huge], {}, [], (), 1, 2) == []
    assert sources([], {}, [], (), 1, 2) == []

"""Long bodies in MLflow's words, cut anywhere: what comes of them does not depend on the slices."""

import json
import random
from typing import Any

import pytest

from worker_runtime.errors import RuntimeFault
from worker_runtime.protocols.http import invocations, nested_json, tables
from worker_runtime.protocols.slices import at_once
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

COUNT = 500
TEXTS = ("", "a", 'b"\\', "],[", "{,}", "ü\U0001f600", "\n:")
MODELS = (
    {"x": ("FP32", (-1, 2))},
    {"x": ("INT64", (-1,))},
    {"x": ("BYTES", (-1,))},
    {"a": ("INT64", (-1,)), "b": ("BYTES", (-1,))},
)


def signature(inputs: dict[str, tuple[str, tuple[int, ...]]]) -> Signature:
    specs = [TensorSpec(name, BY_NAME[kind], dims) for name, (kind, dims) in inputs.items()]
    return Signature("m", 0, tuple(specs), ())


def cell(dice: random.Random) -> Any:
    return dice.choice([1, 2.5, None, True, [1, 2], [[3]], {"k": 1}, 10**30, dice.choice(TEXTS)])


def document(dice: random.Random) -> dict[str, Any]:
    word = dice.choice(["input_data", "dataframe_split", "dataframe_records", "instances"])
    rows, alike = dice.randrange(6), dice.choice([1, "a", [1, 2], None])
    value = [dice.choice([lambda: alike, lambda: cell(dice)])() for _ in range(rows)]
    names = dice.choice([["a", "b"], ["x"], ["b", "a"]])
    if word == "dataframe_split":
        data = [[alike for _ in names] for _ in range(rows)]
        return {word: {"columns": names, "index": [*range(rows)], "data": data}, "more": value}
    if word == "dataframe_records" or dice.random() < 0.5:
        return {word: [dict.fromkeys(names, alike) for _ in range(rows)]}
    return {word: value}


def broken(dice: random.Random, text: bytes) -> bytes:
    at, char = dice.randrange(len(text)), dice.choice([*b'[]{},:"\\ 1N\x0b'])
    how = dice.randrange(3)
    return text[:at] + (bytes([char]) if how else b"") + text[at + (how < 2) :]


def told(inputs: Any, body: bytes) -> Any:
    """What comes of it; of a refusal only that it is one."""
    try:
        found = at_once(invocations.asked(signature(inputs), "application/json", body))
    except RuntimeFault:
        return "refused"
    return found.table, [(name, a.dtype, repr(a.tolist())) for name, a in found.tensors.items()]


def sliced(patch: pytest.MonkeyPatch, size: int) -> None:
    patch.setattr(nested_json, "SLICE_BYTES", size)
    patch.setattr(invocations, "SMALL", 0)
    patch.setattr(tables, "SLICE_ELEMENTS", size)


@pytest.mark.parametrize("size", [3, 17, 40])
def test_slices_of_any_size_tell_the_same(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    dice = random.Random(size)
    bodies = [(dice.choice(MODELS), json.dumps(document(dice)).encode()) for _ in range(COUNT)]
    whole = [told(*body) for body in bodies]
    assert 0.2 < whole.count("refused") / COUNT < 0.95
    sliced(monkeypatch, size)
    for body, expected in zip(bodies, whole, strict=True):
        assert told(*body) == expected, body


@pytest.mark.parametrize("size", [3, 17, 40])
def test_what_is_no_json_is_refused_in_slices_too(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    dice = random.Random(size)
    sliced(monkeypatch, size)
    taken = 0
    for _ in range(COUNT):
        text = broken(dice, json.dumps(document(dice)).encode())
        if told(dice.choice(MODELS), text) != "refused":
            json.loads(text)  # raises for what is none
            taken += 1
    assert taken, "some are JSON still"

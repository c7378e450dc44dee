"""Inputs that show what a model does: saved ones, random valid ones, and those of clients."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from controlplane.console.inference import Call
from controlplane.console.models_served import Specification
from controlplane.console.tensors import NUMPY_TYPES, Tensor
from controlplane.rollouts import CAPTURED, SOURCES

LARGEST_FREE = 8  # of axes that may have any size
LARGEST_WHOLE = 10  # more would be no class, token or index of small models
MOST_VALUES = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """``kind``: one of ``rollouts.SOURCES``. ``source``: a saved case or a model, which is left out
    once it is refused. ``file`` and ``line``: where a captured one lies."""

    kind: str
    source: str
    call: Call
    file: str = ""
    line: int = 0
    at: str = ""  # when it was captured


def inputs(
    models: Sequence[Specification],
    saved: Mapping[str, Call],
    captured: Sequence[Input],
    refused: Collection[str],
    seed: int,
    count: int,
    asked: int = 0,
) -> Iterator[Input]:
    """``count`` of them, of what there is in turn: saved cases, random ones of ``models``, captured
    ones, each of these once. What comes from ``refused`` is left out, and no decoupled model is
    asked at random. ``asked``: so many were before, so that of one input a look each kind has its
    turn."""
    rng = np.random.default_rng(seed)
    makeable = [
        model
        for model in models
        if not model["decoupled"] and _is_small(model) and model["name"] not in refused
    ]
    kept = [(source, call) for source, call in saved.items() if source not in refused]
    clients = list(reversed(captured))

    def one(kind: str) -> Input | None:
        if kind == "cases" and kept:
            source, call = kept[rng.integers(len(kept))]
            return Input(kind, source, call)
        if kind == "random" and makeable:
            model = makeable[rng.integers(len(makeable))]
            return Input(kind, model["name"], random_call(model, rng))
        return clients.pop() if kind == CAPTURED and clients else None

    turns = islice(cycle(SOURCES), asked % len(SOURCES), None)
    for _ in range(count):
        found = next((got for _ in SOURCES if (got := one(next(turns)))), None)
        if found is None:
            return
        yield found


def random_call(model: Specification, rng: np.random.Generator) -> Call:
    """Axes of any size get one size in all inputs, as they often mean the same."""
    free = int(rng.integers(1, LARGEST_FREE + 1))
    batch = (1,) if model["max_batch_size"] > 0 else ()
    return Call(
        model=model["name"],
        inputs=[
            _tensor(item["name"], item["datatype"], (*batch, *_shape(item, free)), rng)
            for item in model["inputs"]
            if not item.get("optional")
        ],
    )


def _shape(item: Specification, free: int) -> tuple[int, ...]:
    return tuple(axis if isinstance(axis, int) and axis >= 0 else free for axis in item["shape"])


def _is_small(model: Specification) -> bool:
    return all(np.prod(_shape(item, LARGEST_FREE)) <= MOST_VALUES for item in model["inputs"])


def _tensor(name: str, datatype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Tensor:
    count = int(np.prod(shape))
    if datatype == "BYTES":
        words = [b"word%d" % number for number in rng.integers(0, 1000, count)]
        raw = b"".join(len(word).to_bytes(4, "little") + word for word in words)
    elif datatype == "BOOL":
        raw = rng.integers(0, 2, count).astype(np.bool_).tobytes()
    elif datatype == "BF16":
        raw = (rng.standard_normal(count).astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    elif datatype.startswith("FP"):
        raw = rng.standard_normal(count).astype(NUMPY_TYPES[datatype]).tobytes()
    else:
        raw = rng.integers(0, LARGEST_WHOLE, count).astype(NUMPY_TYPES[datatype]).tobytes()
    return Tensor(name, datatype, shape, raw)

"""Any graph, answered in any order, gives what plain evaluation gives, and runs no more."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.worker_runtime.core.ensemble_models import (
    EnsembleHarness,
    FakeServed,
    ensemble_text,
    model_text,
    plus,
    step_text,
)
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.repository.ensembles import check_composition, check_schedule

_NAMES = ("x", "z", "w")


@st.composite
def graphs(draw: Any) -> tuple[list[tuple[str, ...]], set[str]]:
    """For each step the tensors that it reads, step i writing T<i>; and the requested outputs."""
    count = draw(st.integers(1, 8))
    steps: list[tuple[str, ...]] = []
    for index in range(count):
        known = ["IN", *(f"T{i}" for i in range(index))]
        width = draw(st.integers(1, len(_NAMES)))
        steps.append(tuple(draw(st.sampled_from(known)) for _ in range(width)))
    read = {name for step in steps for name in step}
    outputs = {f"T{i}" for i in range(count) if f"T{i}" not in read}
    outputs |= draw(st.sets(st.sampled_from([f"T{i}" for i in range(count)])))
    return steps, outputs


def needed(steps: list[tuple[str, ...]], wanted: set[str]) -> set[int]:
    """The steps that the wanted tensors depend on."""
    found: set[int] = set()
    todo = [int(name[1:]) for name in wanted]
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            todo += [int(name[1:]) for name in steps[index] if name != "IN"]
    return found


@settings(deadline=None, max_examples=150)
@given(graph=graphs(), data=st.data())
def test_every_order_of_answers_gives_the_same(graph: Any, data: Any) -> None:
    steps, outputs = graph
    if "IN" not in {name for step in steps for name in step}:
        return  # an input that nobody reads is refused at load
    ordered = sorted(outputs, key=lambda name: int(name[1:]))
    text = ensemble_text(
        "any",
        ["IN"],
        ordered,
        [
            step_text(f"m{i}", dict(zip(_NAMES, reads, strict=False)), {"y": f"T{i}"})
            for i, reads in enumerate(steps)
        ],
    )
    models = [
        FakeServed(model_text(f"m{i}", _NAMES[: len(reads)])) for i, reads in enumerate(steps)
    ]
    harness = EnsembleHarness(text, *models)
    assert check_schedule(harness.config) == []
    assert check_composition(harness.config, {m.name: m.config for m in models}) is False
    wanted = data.draw(st.sets(st.sampled_from(ordered), min_size=1))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, tuple(sorted(wanted)), IN=[1, 2]))
    while any(model.scheduler.waiting for model in models):
        ready = [i for i, model in enumerate(models) if model.scheduler.waiting]
        index = data.draw(st.sampled_from(ready))
        plus(index)(models[index].scheduler.waiting.pop(0))
    values: dict[str, Any] = {"IN": np.array([1, 2], np.float32)}
    for index, reads in enumerate(steps):
        values[f"T{index}"] = sum(values[name] for name in reads) + np.float32(index)
    [(_, response, final)] = sink.responded
    assert final
    assert response is not None
    assert set(response.names) == wanted
    for name, array in zip(response.names, response.arrays, strict=True):
        assert array.tolist() == values[name].tolist()
    ran = {i for i, model in enumerate(models) if model.scheduler.seen}
    assert ran == needed(steps, wanted)
    assert all(len(model.scheduler.seen) <= 1 and model.pins == 0 for model in models)

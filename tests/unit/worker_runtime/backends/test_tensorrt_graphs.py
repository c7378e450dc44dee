"""CUDA graphs of TensorRT engines, on a stand-in for the library: never run on a GPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch

from tests.support.tensorrt_library import Engine, Graph, Memory, Tensor, doubler, resizer
from tests.support.tensorrt_modules import Backend, backend_on_stand_in
from tests.support.tensors import load_spec
from worker_runtime.backends.base import BatchInput
from worker_runtime.backends.graph_sizes import GraphBudget
from worker_runtime.errors import ConfigInvalid, InvalidArgument, Unavailable
from worker_runtime.types.tensor import BY_NAME

BEST = {"x": (2, 3), "z": (2, 5)}
GRAPHS = "optimization { cuda { graphs: true } } "
SPEC = """
optimization { cuda { graphs: true graph_spec [
  { batch_size: 4 input { key: "x" value { dim: [ 7 ] } } },
  { batch_size: 8 graph_lower_bound { batch_size: 6 } } ] } } max_batch_size: 8
"""


@pytest.fixture
def trt(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    def whole_device() -> NoReturn:
        raise AssertionError("other models were waited for, or lost their memory")

    monkeypatch.setattr(torch.cuda, "synchronize", whole_device)
    monkeypatch.setattr(torch.cuda, "empty_cache", whole_device)
    yield from backend_on_stand_in(monkeypatch)


def room(size: int = 1 << 20, most: int = 64) -> GraphBudget:
    return GraphBudget(size, share=1, most=most)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("max_batch_size: 8", []),
        ("max_batch_size: 4 " + GRAPHS, [(1, 1), (2, 2), (3, 4)]),
        (GRAPHS, [(0, 0)]),
        (SPEC, [(4, 4), (6, 8)]),
        ("max_batch_size: 4 input { name: 'x' allow_ragged_batch: true } " + GRAPHS, []),
        ("max_batch_size: 4 batch_input { target_name: 'x' } " + GRAPHS, []),
    ],
)
def test_graphs_that_are_captured(
    trt: Backend, tmp_path: Path, config: str, expected: list[tuple[int, int]]
) -> None:
    found = trt.graphs.wanted_graphs(load_spec(tmp_path, config).config, BEST)
    assert [(item.size.fewest, item.size.rows) for item in found] == expected
    assert all(item.shapes["z"] == (item.size.rows or 2, 5) for item in found)
    if config == SPEC:
        assert [item.shapes["x"] for item in found] == [(4, 7), (8, 3)]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("batch_size: 9", "to be >= 1 and <= 8, got 9"),
        ('batch_size: 1 input { key: "w" value { dim: [1] } }', "names input 'w'"),
        ('batch_size: 1 input { key: "z" value { dim: [1, 2] } }', "'z' 2 dimensions, expected 1"),
    ],
)
def test_graphs_that_cannot_be(trt: Backend, tmp_path: Path, spec: str, text: str) -> None:
    config = f"max_batch_size: 8 optimization {{ cuda {{ graphs: true graph_spec {{ {spec} }} }} }}"
    with pytest.raises(ConfigInvalid, match=text):
        trt.graphs.wanted_graphs(load_spec(tmp_path, config).config, BEST)


def x(rows: int, parts: list[Any]) -> BatchInput:
    return BatchInput("x", BY_NAME["FP32"], (rows, 3), parts)


def answer(lane: Any, rows: int) -> Any:
    given = np.random.default_rng(rows).random((rows, 3), np.float32)
    half = rows // 2
    batch = x(rows, [given[:half].tobytes(), given[half:]])
    (found,) = lane.execute_parts([batch], ["y"], (), int).arrays
    np.testing.assert_array_equal(found, 2 * given)
    return found


def counted(instance: Any, engine: Engine, rows: int) -> int:
    """How many executions without a graph two answers of each lane take."""
    before = sum(context.runs for context in engine.contexts)
    found = [answer(lane, rows) for lane in instance.lanes]
    kept = [item.copy() for item in found]
    for lane in instance.lanes:
        lane.execute_parts([x(rows, [bytes(rows * 12)])], ["y"], (), int)
    np.testing.assert_array_equal(found, kept)  # not the graph's own memory
    return sum(context.runs for context in engine.contexts) - before


def test_batches_are_padded_to_captured_sizes(trt: Backend, tmp_path: Path) -> None:
    engine = doubler(trt.library.memory)
    instance = trt.instance(engine, (0, 1))
    instance.capture(load_spec(tmp_path, "max_batch_size: 8 " + GRAPHS).config, room())
    # one for each profile; one for each lane's graphs, which ran once before they were captured
    assert [(context.profile, context.runs) for context in engine.contexts] == [
        (0, 0), (1, 0), *[(0, 1)] * 4, *[(1, 1)] * 4
    ]  # fmt: skip
    assert [counted(instance, engine, rows) for rows in (1, 5, 8, 3, 2, 7, 4, 6)] == [0] * 8
    with pytest.raises(InvalidArgument, match="dimension 0 to be between 1 and 2 but received 9"):
        instance.execute({"x": np.zeros((9, 3), np.float32)}, ["y"])
    instance.close()
    with pytest.raises(Unavailable, match="unloaded"):
        answer(instance.lanes[0], 4)


def test_what_a_specification_leaves_out_runs_without_a_graph(trt: Backend, tmp_path: Path) -> None:
    engine = doubler(trt.library.memory)
    instance = trt.instance(engine, (0, 1))
    instance.capture(load_spec(tmp_path, SPEC.replace("7", "3")).config, room())
    graphless = {rows: counted(instance, engine, rows) for rows in (4, 1, 8, 2, 6, 5, 3, 7)}
    assert graphless == {4: 0, 8: 0, 6: 0, 7: 0, 1: 4, 2: 4, 3: 4, 5: 4}


def test_a_model_that_does_not_batch_has_the_graph_of_its_shape(
    trt: Backend, tmp_path: Path
) -> None:
    engine = doubler(trt.library.memory)
    instance = trt.instance(engine, (1,), batched=False)
    instance.capture(load_spec(tmp_path, GRAPHS).config, room())
    assert {rows: counted(instance, engine, rows) for rows in (8, 7)} == {8: 0, 7: 4}


def test_rows_of_nobody_are_zeros_and_are_not_given_away(trt: Backend, tmp_path: Path) -> None:
    memory, seen = trt.library.memory, []

    def work(given: Any) -> dict[str, Any]:
        seen.append(given["x"].copy())
        return {"y": given["x"]}

    taken = Tensor("x", (-1, 1), [((1, 1), (4, 1), (4, 1))])
    engine = Engine(
        memory, [taken], [Tensor("y", (-1, 1))], lambda shapes, _: {"y": shapes["x"]}, work
    )
    instance = trt.instance(engine, ())
    instance.capture(load_spec(tmp_path, "max_batch_size: 4 " + GRAPHS).config, room())
    seen.clear()
    (found,) = instance.execute({"x": np.full((3, 1), 7, np.float32)}, ["y"])
    assert found.tolist() == [[7]] * 3
    assert [item.tolist() for item in seen] == [[[7], [7], [7], [0]]]


@pytest.mark.parametrize(("size", "most"), [(24 * 2 + 48 * 2 + 95, 64), (1 << 20, 4)])
def test_what_there_is_no_room_for_runs_without_a_graph(
    trt: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture, size: int, most: int
) -> None:
    engine = doubler(trt.library.memory)
    instance = trt.instance(engine, (0, 1))
    instance.capture(load_spec(tmp_path, "max_batch_size: 8 " + GRAPHS).config, room(size, most))
    assert caplog.text.count("no room for the CUDA graph of {'x': (4, 3)}") == 1
    assert {rows: counted(instance, engine, rows) for rows in (1, 2, 3, 8)} == {
        1: 0, 2: 0, 3: 4, 8: 4
    }  # fmt: skip


def test_what_cannot_be_captured_runs_without_a_graph(
    trt: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Graph, "fails", "operation not permitted when stream is capturing")
    engine, budget = doubler(trt.library.memory), room(24)
    instance = trt.instance(engine, (0,))
    instance.capture(load_spec(tmp_path, "max_batch_size: 1 " + GRAPHS).config, budget)
    assert "no CUDA graph for {'x': (1, 3)}: operation not permitted" in caplog.text
    assert budget.take(24)  # its room was given back
    assert counted(instance, engine, 1) == 4


def test_shape_tensors_have_no_graphs(
    trt: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instance = trt.instance(resizer(Memory()), (0,))
    instance.capture(load_spec(tmp_path, "max_batch_size: 4 " + GRAPHS).config, room())
    assert caplog.messages == ["Detected shape tensor, CUDA graph is not captured for m_0_0"]

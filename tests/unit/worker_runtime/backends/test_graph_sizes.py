"""CUDA graphs: which batch sizes get one, where a batch is padded to, and when there is no room."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.tensors import load_spec
from worker_runtime.backends.graph_sizes import (
    GraphBudget,
    GraphSize,
    graph_sizes,
    padded,
    usual_sizes,
)
from worker_runtime.errors import ConfigInvalid

SPEC = "optimization { cuda { graphs: true graph_spec { %s } } } "
BATCHED = "max_batch_size: 8 " + SPEC


def pairs(sizes: tuple[GraphSize, ...]) -> list[tuple[int, int]]:
    return [(size.fewest, size.rows) for size in sizes]


@pytest.mark.parametrize(
    ("most", "preferred", "expected"),
    [
        (0, (), [(0, 0)]),
        (0, (4,), [(0, 0)]),
        (1, (), [(1, 1)]),
        (2, (), [(1, 1), (2, 2)]),
        (4, (), [(1, 1), (2, 2), (3, 4)]),
        (6, (), [(1, 1), (2, 2), (3, 4), (5, 6)]),
        (8, (8,), [(1, 1), (2, 2), (3, 4), (5, 8)]),
        (8, (6, 3, 6, 9, 0, -1), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 8)]),
        (100, (), [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 100)]),
    ],
)
def test_the_usual_sizes(
    most: int, preferred: tuple[int, ...], expected: list[tuple[int, int]]
) -> None:
    assert pairs(usual_sizes(most, preferred)) == expected


@pytest.mark.parametrize("most", [1, 2, 3, 7, 8, 9, 64, 1000])
def test_every_batch_has_a_size_of_less_than_twice_its_rows(most: int) -> None:
    sizes = usual_sizes(most, (most // 3,))
    for rows in range(1, most + 1):
        found = padded(rows, sizes)
        assert found is not None
        assert rows <= found < 2 * rows
    assert padded(most + 1, sizes) is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", [(0, 0)]),
        ("max_batch_size: 3", [(1, 1), (2, 2), (3, 3)]),
        (
            "max_batch_size: 4 dynamic_batching { preferred_batch_size: [3] }",
            [(1, 1), (2, 2), (3, 3), (4, 4)],
        ),
        (
            "max_batch_size: 4 sequence_batching { oldest { preferred_batch_size: [3] } }",
            [(1, 1), (2, 2), (3, 3), (4, 4)],
        ),
        ("max_batch_size: 4 sequence_batching { direct {} }", [(1, 1), (2, 2), (3, 4)]),
        (BATCHED % "batch_size: 4", [(4, 4)]),
        (BATCHED % "batch_size: 6 graph_lower_bound { batch_size: 3 }", [(3, 6)]),
        (BATCHED % "batch_size: 6 }, graph_spec { batch_size: 2", [(2, 2), (6, 6)]),
        (SPEC % "", [(0, 0)]),
        (SPEC % "graph_lower_bound {}", [(0, 0)]),
    ],
)
def test_a_configuration_says_the_sizes(
    tmp_path: Path, config: str, expected: list[tuple[int, int]]
) -> None:
    assert pairs(graph_sizes(load_spec(tmp_path, config).config)) == expected


def test_a_specification_has_shapes(tmp_path: Path) -> None:
    config = BATCHED % (
        'batch_size: 4 input { key: "x" value { dim: [7, 3] } } '
        'graph_lower_bound { batch_size: 2 input { key: "x" value { dim: [5, 3] } } '
        'input { key: "more" value { dim: [1] } } } }, '
        'graph_spec { batch_size: 1 input { key: "x" value { dim: [9, 3] } }'
    )
    assert graph_sizes(load_spec(tmp_path, config).config) == (
        GraphSize(1, 1, {"x": (9, 3)}),
        GraphSize(4, 2, {"x": (7, 3)}),
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("batch_size: 9", "expects 'batch_size' to be >= 1 and <= 8, got 9"),
        ("", "expects 'batch_size' to be >= 1 and <= 8, got 0"),
        ("batch_size: 4 graph_lower_bound {}", "to be >= 1 and <= 8, got 0"),
        ("batch_size: 4 graph_lower_bound { batch_size: 9 }", "to be >= 1 and <= 8, got 9"),
        (
            "batch_size: 4 graph_lower_bound { batch_size: 5 }",
            "to be <= graph spec 'batch_size' 4, got 5",
        ),
        (
            'batch_size: 4 input { key: "x" value { dim: [2] } } '
            "graph_lower_bound { batch_size: 1 }",
            "lower bound spec expects shape for input 'x'",
        ),
        (
            'batch_size: 4 input { key: "x" value { dim: [2] } } graph_lower_bound { batch_size: 1 '
            'input { key: "x" value { dim: [2, 2] } } }',
            "input 'x' to have 1 dimensions, got 2",
        ),
        (
            'batch_size: 4 input { key: "x" value { dim: [2] } } graph_lower_bound { batch_size: 1 '
            'input { key: "x" value { dim: [3] } } }',
            "input 'x' to have dimension <= 2, got 3",
        ),
        (
            'batch_size: 4 input { key: "x" value { dim: [-1] } }',
            "input 'x' to have dimension >= 0, got -1",
        ),
    ],
)
def test_what_a_specification_must_not_say(tmp_path: Path, spec: str, message: str) -> None:
    with pytest.raises(ConfigInvalid, match=message) as caught:
        graph_sizes(load_spec(tmp_path, BATCHED % spec).config)
    assert caught.value.problems[0].field == "optimization.cuda.graph_spec"


def test_a_model_that_does_not_batch_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="to be 0 if 'max_batch_size' is 0, got 2"):
        graph_sizes(load_spec(tmp_path, SPEC % "batch_size: 2").config)


@pytest.mark.parametrize(
    ("size", "expected"), [(0, None), (1, 2), (2, 2), (3, None), (4, 8), (7, 8), (8, 8), (9, None)]
)
def test_a_batch_is_padded_to_the_next_size_that_takes_it(size: int, expected: int | None) -> None:
    sizes = (GraphSize(8, 4), GraphSize(2, 1), GraphSize(16, 16))
    assert padded(size, sizes) == expected


def test_overlapping_sizes_pad_as_little_as_they_can() -> None:
    assert padded(3, (GraphSize(8, 1), GraphSize(4, 2))) == 4
    assert padded(3, ()) is None


def test_memory_ends_the_graphs() -> None:
    budget = GraphBudget(1000, share=0.5)
    assert [budget.take(size) for size in (300, 201, 200, 1, 0)] == [True, False, True, False, True]
    budget.give_back(200)
    assert [budget.take(size) for size in (201, 200, 1)] == [False, True, False]


def test_their_number_ends_the_graphs() -> None:
    budget = GraphBudget(1000, most=2)
    assert [budget.take(1) for _ in range(3)] == [True, True, False]
    budget.give_back(1)
    assert [budget.take(1) for _ in range(2)] == [True, False]


def test_threads_do_not_overdraw_it() -> None:
    budget = GraphBudget(10_000, share=1, most=500)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(budget.take, [10] * 2000))
    assert taken.count(True) == 500


def test_it_needs_no_library_of_a_device() -> None:
    code = "import sys, worker_runtime.backends.graph_sizes; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"

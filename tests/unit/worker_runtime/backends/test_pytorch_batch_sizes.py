"""When a batch size is new to a module, and which one stands in for it until then."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.tensors import load_spec
from worker_runtime.backends.graph_sizes import usual_sizes
from worker_runtime.backends.pytorch.backend import PytorchBackend
from worker_runtime.backends.pytorch.batch_sizes import LearnedSizes

SLOW, FAST = 0.1, 0.001
ROW = ((3, 32, 32),)


def test_new_sizes_come_so_rarely_that_they_take_a_twentieth_of_the_time() -> None:
    sizes = LearnedSizes(usual_sizes(64))
    story = [
        # seconds, rows, what it has, how long that took
        (0.0, 5, 5, SLOW),
        (0.1, 5, 5, FAST),
        (0.2, 3, 4, SLOW),  # 5 is more than the usual size of 3
        (0.5, 4, 4, FAST),
        (0.6, 3, 4, FAST),
        (0.7, 33, 64, SLOW),
        (0.9, 50, 64, FAST),
        (2.8, 50, 50, SLOW),  # two seconds after the last one
        (2.9, 40, 50, FAST),  # nearer than 64
        (2.9, 50, 50, FAST),
        (2.9, 7, 8, SLOW),
        (9.9, 6, 6, SLOW),
        (9.9, 3, 4, FAST),
    ]
    for now, rows, expected, took in story:
        assert sizes.rows(ROW, rows, now) == expected, (now, rows)
        sizes.ran(ROW, expected, took, now)


@pytest.mark.parametrize("took", [FAST, 10.0])
def test_a_module_that_is_no_slower_at_new_sizes_gets_each_batch_as_it_is(took: float) -> None:
    """Also one that always takes long, once that is known."""
    sizes = LearnedSizes(usual_sizes(64))
    sizes.ran(ROW, 64, took, 0.0)
    sizes.ran(ROW, 64, took, 0.0)
    now = 1.0
    for rows in range(1, 65):
        assert sizes.rows(ROW, rows, now) == rows
        sizes.ran(ROW, rows, took, now)


def test_rows_of_another_shape_are_new_again() -> None:
    sizes = LearnedSizes(usual_sizes(64))
    sizes.ran(ROW, 5, SLOW, 0.0)
    assert sizes.rows(ROW, 5, 0.1) == 5
    assert sizes.rows(((3, 64, 64),), 5, 0.1) == 8


def test_where_the_server_makes_no_batches_none_is_padded() -> None:
    sizes = LearnedSizes(())
    sizes.ran(ROW, 5, SLOW, 0.0)
    assert sizes.rows(ROW, 3, 0.1) == 3


class Counted(torch.nn.Module):
    """Twice x + 1, which it is given to change, and how many rows it has seen."""

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.add_(1)
        table = torch.full([10], 2.0)
        return table[index] * x, torch.full([x.shape[0], 1], float(x.shape[0]))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("scheduler", "seen"), [("dynamic_batching {}", 8), ("", 5)])
def test_clients_see_nothing_of_the_rows_that_were_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str, seen: int
) -> None:
    torch.jit.save(torch.jit.script(Counted()), str(tmp_path / "model.pt"))
    monkeypatch.setattr("worker_runtime.backends.pytorch.backend.DEVICE", "cpu")
    monkeypatch.setattr("worker_runtime.backends.pytorch.batch_sizes._SLOW_S", 0.0)
    config = (
        'backend: "pytorch" max_batch_size: 8'
        ' input { name: "x" data_type: TYPE_FP32 dims: 2 }'
        ' input { name: "index" data_type: TYPE_INT64 dims: 1 }'
        ' output { name: "y" data_type: TYPE_FP32 dims: 2 }'
        ' output { name: "rows" data_type: TYPE_FP32 dims: 1 }' + scheduler
    )
    (instance,) = PytorchBackend().load(load_spec(tmp_path, config, gpus=(0,))).instances
    asked: dict[int, Any] = {}
    for rows in (2, 5):
        x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        index = np.full((rows, 1), 9, np.int64)
        asked[rows] = instance.execute({"x": x, "index": index}, ["y", "rows"])
        np.testing.assert_array_equal(asked[rows][0], 2 * (x + 1))
    assert asked[5][1].tolist() == [[seen]] * 5


class Turned(torch.nn.Module):
    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        return x * turns


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_inputs_of_a_model_without_batches_have_lengths_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.jit.save(torch.jit.script(Turned()), str(tmp_path / "model.pt"))
    monkeypatch.setattr("worker_runtime.backends.pytorch.backend.DEVICE", "cpu")
    config = (
        'backend: "pytorch" input { name: "x" data_type: TYPE_FP32 dims: [ 4, 2 ] }'
        ' input { name: "turns" data_type: TYPE_FP32 dims: 1 }'
        ' output { name: "y" data_type: TYPE_FP32 dims: [ 4, 2 ] }'
    )
    (instance,) = PytorchBackend().load(load_spec(tmp_path, config, gpus=(0,))).instances
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    (found,) = instance.execute({"x": x, "turns": np.array([3], np.float32)}, ["y"])
    np.testing.assert_array_equal(found, 3 * x)

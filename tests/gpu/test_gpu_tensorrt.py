"""The TensorRT backend's streams, memory and CUDA graphs, on a stand-in for the library alone.

TensorRT itself is not run: its engines are kernels of PyTorch at the addresses that they are given.
"""

import logging
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.gpu_device import Device
from tests.support.gpu_server import side_by_side
from worker_runtime.backends.base import BatchInput
from worker_runtime.backends.graph_sizes import GraphBudget
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.tensor import BY_NAME

torch = pytest.importorskip("torch")
MOST, COLUMNS, STEPS = 8, 1 << 16, 20
MOST_TAKEN = 200  # pieces of memory
CONFIG = f'name: "m" max_batch_size: {MOST} optimization {{ cuda {{ graphs: true }} }}'


def stepped(given: Any) -> dict[str, Any]:
    """So many kernels that another's input would be seen in the answer."""
    found = given["x"]
    for _ in range(STEPS):
        found = found * 0.5 + 1
    return {"y": found}


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, device: Device) -> Iterator[Any]:
    from tests.support.tensorrt_modules import backend_on_stand_in

    yield from backend_on_stand_in(monkeypatch, on_gpu=device.is_gpu)


def engine(backend: Any, device: Device) -> Any:
    from tests.support.tensorrt_library import Engine, Tensor
    from tests.support.tensorrt_on_gpu import GpuEngine

    bounds = [((1, COLUMNS), (MOST, COLUMNS), (MOST, COLUMNS))]
    return (GpuEngine if device.is_gpu else Engine)(
        backend.library.memory,
        [Tensor("x", (-1, COLUMNS), bounds)],
        [Tensor("y", (-1, COLUMNS))],
        lambda shapes, _: {"y": shapes["x"]},
        stepped,
    )


def captured(backend: Any, device: Device) -> tuple[Any, Any]:
    made = engine(backend, device)
    instance = backend.instance(made, (0,), device=device.name)
    instance.capture(parse(CONFIG), GraphBudget(1 << 30, share=1))
    return made, instance


def test_batches_of_every_size_are_right_on_both_lanes_at_once(
    backend: Any, device: Device, figures: Any, caplog: pytest.LogCaptureFixture
) -> None:
    made, instance = captured(backend, device)
    assert not caplog.records, caplog.text
    before = sum(context.runs for context in made.contexts)
    turns = device.pick(200, 3)

    def ask(number: int) -> list[str]:
        failures: list[str] = []
        source = np.random.default_rng(number)
        for turn in range(turns):
            rows = int(source.integers(1, MOST + 1))
            given = source.random((rows, COLUMNS), np.float32)
            batch = BatchInput("x", BY_NAME["FP32"], given.shape, [given])
            lane = instance.lanes[number]
            (found,) = lane.execute_parts([batch], ["y"], (), lambda: None).arrays
            if found.shape != given.shape or not np.allclose(found, stepped({"x": given})["y"]):
                failures.append(f"lane {number}, turn {turn}: {rows} rows")
        return failures

    failures = [item for found in side_by_side(len(instance.lanes), ask) for item in found]
    figures(runs=turns * len(instance.lanes), wrong=len(failures))
    assert not failures
    assert sum(context.runs for context in made.contexts) == before, "some ran without a graph"


def test_a_capture_waits_for_nobody(
    backend: Any, device: Device, card: str, figures: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Another stream computes all the while, and another thread takes memory of the device."""
    assert card
    caplog.set_level(logging.WARNING)
    _, instance = captured(backend, device)  # what is loaded at first use is loaded now
    instance.close()
    busy, done, stop = torch.cuda.Stream(), torch.cuda.Event(), threading.Event()
    taken: list[Any] = []

    def allocate() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop.is_set() and len(taken) < MOST_TAKEN:
                # why so much: smaller pieces come out of what PyTorch has
                taken.append(torch.empty(24 << 20, dtype=torch.uint8, device="cuda"))

    with torch.cuda.stream(busy):
        torch.cuda._sleep(20_000_000_000)  # cycles: some ten seconds
        done.record()
    thread = threading.Thread(target=allocate)
    thread.start()
    try:
        made, instance = captured(backend, device)
        waited = done.query()
    finally:
        stop.set()
        thread.join()
    figures(graphs=len(made.contexts) - 1, taken_meanwhile=len(taken))
    assert not waited, "the captures ended after what another stream did"
    assert not caplog.records, caplog.text
    assert len(made.contexts) == 1 + 8  # 1, 2, 4 and 8 rows, for each of two lanes
    instance.close()
    busy.synchronize()

"""Executions that fail because a GPU has no memory left are counted: each once, others never."""

from collections.abc import Sequence

import pytest

from tests.unit.worker_runtime.core.test_core_requests import Harness as RequestHarness
from tests.unit.worker_runtime.core.test_core_requests import both
from tests.unit.worker_runtime.core.test_core_scheduler import DYNAMIC, FakeModel
from tests.unit.worker_runtime.core.test_core_scheduler import Harness as BatchHarness
from worker_runtime.backends.base import BackendRequest
from worker_runtime.core.scheduling.dynamic import SchedulerConfig
from worker_runtime.errors import BackendFailed, GpuMemoryFull, Internal
from worker_runtime.types.gpu_memory import gpu_bytes_wanted
from worker_runtime.types.request import Response

TORCH = (
    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB of "
    "which 1.00 GiB is free. Including non-PyTorch memory, this process has 2.50 GiB memory in use."
)
ERRORS = [
    (RuntimeError(TORCH), 1),
    (BackendFailed(f"the model's process said:\nTraceback\ntorch.OutOfMemoryError: {TORCH}"), 1),
    (GpuMemoryFull("onnx runtime error 6: Failed to allocate memory for requested buffer"), 1),
    (BackendFailed("OOM when allocating tensor on /job:localhost/device:GPU:0 by allocator b"), 1),
    (BackendFailed("Failed to allocate memory for requested buffer of size 8"), 0),  # a CPU's arena
    (MemoryError(), 0),
    (ValueError("no such vocabulary"), 0),
]


@pytest.mark.parametrize(("error", "counted"), ERRORS)
@pytest.mark.parametrize("config", [DYNAMIC, SchedulerConfig(ahead=1)])
async def test_a_batch_counts_once(error: Exception, counted: int, config: SchedulerConfig) -> None:
    harness = BatchHarness(FakeModel(), config)
    harness.model.error = error
    for name in "ab":
        harness.submit(name, 1)
    await harness.answered(2)
    assert harness.statistics.gpu_out_of_memory_count == counted * len(harness.model.batches)
    assert harness.statistics.fail_count == 2
    await harness.scheduler.drain()


async def test_what_runs_in_the_loop_counts_as_well() -> None:
    harness = BatchHarness(FakeModel(inline=True), SchedulerConfig(ahead=1))
    for number in range(200):  # until it runs inline
        harness.submit(str(number), 1)
        await harness.answered(number + 1)
    harness.model.threads.clear()
    harness.model.error = RuntimeError(TORCH)
    harness.submit("last", 1)
    await harness.answered(201)
    assert harness.model.threads == {"MainThread"}
    assert harness.statistics.gpu_out_of_memory_count == 1
    await harness.scheduler.drain()


@pytest.mark.parametrize("decoupled", [False, True])
async def test_models_that_take_requests_apart_count_what_they_raise(decoupled: bool) -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        raise RuntimeError(TORCH)

    harness = RequestHarness(work, decoupled=decoupled)
    for name in "ab":
        harness.submit(name, 1)
    await harness.ended(2)
    assert harness.statistics.gpu_out_of_memory_count == 1
    await harness.scheduler.drain()


@pytest.mark.parametrize("decoupled", [False, True])
async def test_a_model_that_tells_its_client_counts_as_well(decoupled: bool) -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        for request in requests:
            full = request.id == "large"
            request.send(Response(error=Internal(TORCH)) if full else both(request), final=True)

    harness = RequestHarness(work, decoupled=decoupled)
    for name in ("small", "large"):
        harness.submit(name, 1)
    await harness.ended(2)
    assert harness.statistics.gpu_out_of_memory_count == 1
    await harness.scheduler.drain()


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        (TORCH, int(22.5 * 2**30)),
        ("CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 79.10 GiB total)", 2**29),
        ("BFCArena: Failed to allocate memory for requested buffer of size 8589934592", 2**33),
        ("CUDA error: out of memory", 0),
        ("Tried to allocate nothing", 0),
        ("", 0),
    ],
)
def test_how_much_was_wanted_is_read_from_the_words(reason: str, wanted: int) -> None:
    assert gpu_bytes_wanted(reason) == wanted

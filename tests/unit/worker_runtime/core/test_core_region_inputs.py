"""Inputs in device memory for models that want them on the host: copied outside the event loop."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.execution.executor import Executor
from worker_runtime.core.execution.windows import placed
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import BackendFailed, Internal
from worker_runtime.types.device_memory import DeviceBuffer, DeviceWindow
from worker_runtime.types.request import InferRequest, Response
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

FP32 = BY_NAME["FP32"]
SIGNATURE = Signature("m", 4, (TensorSpec("x", FP32, (2,)),), (TensorSpec("y", FP32, (2,)),))


class NotedRegion:
    """Device memory; which threads copied from it and to it."""

    device_id = 0

    def __init__(self) -> None:
        self.memory = bytearray(np.arange(1, 9, dtype=np.float32).tobytes())
        self.threads: list[int] = []
        self.refuses = False

    def pointer(self, offset: int) -> int:
        raise AssertionError(f"nobody here takes the address of byte {offset}")

    def read(self, offset: int, byte_size: int) -> memoryview:
        self.threads.append(threading.get_ident())
        if self.refuses:
            raise Internal("cuMemcpyDtoH_v2 failed")
        return memoryview(bytearray(self.memory[offset : offset + byte_size]))

    def write(self, offset: int, data: Any) -> None:
        self.threads.append(threading.get_ident())
        if self.refuses:
            raise Internal("cuMemcpyHtoD_v2 failed")
        raw = memoryview(data).cast("B")
        self.memory[offset : offset + len(raw)] = raw

    def hold(self) -> Any:
        return self


class Doubling:
    """Takes whole batches, as models on the CPU do."""

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        return [inputs["x"] * 2 for _ in outputs]


class DoublingEach:
    """Takes requests apart, as Python models do."""

    def execute_requests(self, requests: Sequence[Any]) -> None:
        for request in requests:
            response = Response(("y",), [request.inputs["x"] * 2])
            request.send(response, final=True)


def scheduler_of(instance: Any, *, dynamic: bool = True) -> DynamicScheduler:
    loaded: Any = SimpleNamespace(instances=[instance], inline=None)
    config = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=dynamic))
    return DynamicScheduler(SIGNATURE, config, loaded, asyncio.get_running_loop(), Statistics())


def request_of(sink: Any, name: str, buffer: Any, **more: Any) -> InferRequest:
    plan = Planner(SIGNATURE).plan((("x", "FP32", (1, 2)),), None)
    return replace(InferRequest(plan=plan, inputs=[buffer], sink=sink, id=name), **more)


async def answers(sink: RecordingSink, count: int) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while len(sink.delivered) < count:
            await asyncio.sleep(0.001)
    return {name: arrays[0].tolist() for name, arrays in sink.delivered}


@pytest.mark.parametrize("make", [Doubling, DoublingEach])
async def test_inputs_are_copied_in_the_thread_of_the_instance(make: Callable[[], Any]) -> None:
    scheduler, sink, region = scheduler_of(make()), RecordingSink(), NotedRegion()
    assert scheduler.takes_regions
    assert not scheduler.on_device
    scheduler.submit(request_of(sink, "a", DeviceBuffer(region, 0, 8)))
    scheduler.submit(request_of(sink, "b", np.float32([5, 6]).tobytes()))
    scheduler.submit(request_of(sink, "c", DeviceBuffer(region, 8, 8)))
    found = await answers(sink, 3)
    await scheduler.drain()
    assert found == {"a": [[2, 4]], "b": [[10, 12]], "c": [[6, 8]]}
    assert len(region.threads) == 2
    assert threading.get_ident() not in region.threads


async def test_outputs_are_written_in_the_thread_of_the_instance() -> None:
    scheduler, sink, region = scheduler_of(DoublingEach()), RecordingSink(), NotedRegion()
    window = DeviceWindow(region, 16, 8)
    request = request_of(sink, "a", np.float32([5, 6]).tobytes(), device_windows={"y": window})
    scheduler.submit(request)
    await answers(sink, 1)
    await scheduler.drain()
    assert window.filled
    assert np.frombuffer(region.memory, np.float32)[4:6].tolist() == [10, 12]
    assert threading.get_ident() not in region.threads


async def test_a_copy_that_fails_is_the_request_s_error() -> None:
    scheduler, sink, region = scheduler_of(Doubling()), RecordingSink(), NotedRegion()
    region.refuses = True
    scheduler.submit(request_of(sink, "a", DeviceBuffer(region, 0, 8)))
    async with asyncio.timeout(10):
        while not sink.failed:
            await asyncio.sleep(0.001)
    await scheduler.drain()
    assert "cuMemcpyDtoH_v2 failed" in str(sink.failed[0][1])


async def test_a_tiny_model_that_runs_in_the_loop_takes_them_too() -> None:
    sink, region = RecordingSink(), NotedRegion()
    executor = Executor(SIGNATURE, Answers(Statistics()))
    executor.serve_alone(Doubling(), request_of(sink, "a", DeviceBuffer(region, 8, 8)), 1)
    assert await answers(sink, 1) == {"a": [[6, 8]]}


@pytest.mark.parametrize(
    ("array", "room", "filled"),
    [
        (np.float32([1, 2]), 8, True),
        (np.float32([1, 2]), 7, False),
        (np.zeros(0, np.float32), 0, True),
        (np.array([b"text"], np.object_), 8, False),
    ],
)
def test_what_does_not_fit_and_texts_are_left_to_who_writes_the_answer(
    array: Any, room: int, filled: bool
) -> None:
    region = NotedRegion()
    window = DeviceWindow(region, 0, room)
    response = Response(("z", "y"), [np.ones(1), array])
    assert placed({"y": window}, response) is response
    assert window.filled is filled
    region.refuses = True
    refused = DeviceWindow(region, 0, 8)
    found = placed({"y": refused}, Response(("y",), [np.float32([1, 2])]))
    assert "cuMemcpyHtoD_v2 failed" in str(found.error)
    assert not refused.filled


class Failing:
    def execute_requests(self, requests: Sequence[Any]) -> None:
        inputs = [request.inputs for request in requests]
        raise BackendFailed(f"gone with {len(inputs)} requests")


async def test_the_memory_of_requests_that_fail_is_free_without_the_collector() -> None:
    scheduler, sink, region = scheduler_of(Failing()), RecordingSink(), NotedRegion()
    buffer = DeviceBuffer(region, 0, 8)
    held = weakref.ref(plain := Kept(buffer))
    gc.disable()
    try:
        scheduler.submit(request_of(sink, "a", buffer, parameters={"kept": plain}))
        del plain, buffer
        async with asyncio.timeout(10):
            while not sink.failed:
                await asyncio.sleep(0.001)
        await scheduler.drain()
        sink.failed.clear()
        assert held() is None
    finally:
        gc.enable()


class Kept:
    """Goes when its request goes."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer

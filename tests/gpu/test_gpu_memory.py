"""The card's memory: given back with each model, and told of where there is none left."""

from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import pytest
from tritonclient.utils import InferenceServerException

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device, filled, used_bytes
from tests.support.gpu_server import Server, number, side_by_side, wait_until

MB = 1 << 20
LEAKED = 100 * MB
WEIGHTS = 32 * MB
LARGE, ROOM = 512 * MB, 256 * MB
NOBODY_HAS = 1 << 46
ONE = np.ones(1, np.float32)
BACKENDS = ["onnxruntime", "pytorch"]
NO_MEMORY = "(?i)out of memory|failed to allocate|can't allocate|bad_alloc"


def heavy(server: Server, backend: str, name: str, size: int) -> None:
    """A model with so many bytes of weights: y = x."""
    if backend == "onnxruntime":
        model = gm.onnx_heavy(size)
    else:
        from tests.support.gpu_modules import Heavy

        model = Heavy(size)
    text = gm.config(backend, server.device, "x:FP32:1 index:INT64:1", "y:FP32:1")
    server.place(name, model, text)


def answers(server: Server, name: str) -> bool:
    found = server.infer(name, x=3 * ONE, index=number(0))
    return found.tolist() == [3.0]


@pytest.fixture
def held(memory_server: Server, device: Device, request: pytest.FixtureRequest) -> Any:
    """What is held where the models are: of the card by all, or by the server of the host."""
    if device.is_gpu:
        uuid = request.getfixturevalue("card")
        return lambda: used_bytes(uuid)
    process = psutil.Process(memory_server.runtime.process.pid)
    return lambda: process.memory_info().rss


def test_memory_is_given_back_after_many_loads(
    memory_server: Server, device: Device, held: Callable[[], int], figures: Any
) -> None:
    server = memory_server
    turns = device.pick(100, 4)

    def turn(name: str, times: int) -> None:
        ready = f"v2/models/{name}/ready"
        for _ in range(times):
            server.load(name)
            assert answers(server, name)
            server.unload(name)
            wait_until(lambda: server.runtime.call(ready)[0] != 200, f"{name} to go")

    def both(times: int) -> None:
        side_by_side(len(BACKENDS), lambda part: turn(f"again_{BACKENDS[part]}", times))

    for backend in BACKENDS:
        heavy(server, backend, f"again_{backend}", WEIGHTS)
    both(3)  # libraries and contexts stay from here on
    before = held()
    both(turns)
    # why waited for: a model is gone for clients before it is closed
    wait_until(lambda: held() - before < LEAKED, "the memory of the last models to be given back")
    figures(loads_of_each=turns, more_mb=(held() - before) / MB)


@pytest.fixture(scope="module")
def small(apart: Server) -> list[str]:
    """Models of both backends that were loaded while there was room."""
    names = [f"small_{backend}" for backend in BACKENDS]
    for backend, name in zip(BACKENDS, names, strict=True):
        heavy(apart, backend, name, MB)
        apart.load(name)
        assert answers(apart, name)
    return names


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_load_that_finds_no_memory_is_told_and_costs_nobody_else(
    card: str, memory_server: Server, small: list[str], backend: str
) -> None:
    """The same load succeeds once there is room again."""
    server, name = memory_server, f"large_{backend}"
    heavy(server, backend, name, LARGE)
    with filled(ROOM):
        status, error = server.try_load(name)
        assert status != 200, "512 MB found room in 256"
        assert "out of memory" in error.lower(), error
        assert name in error, error
        assert all(answers(server, other) for other in small)
        assert server.runtime.call("v2/health/live")[0] == 200
    server.load(name)
    assert answers(server, name)
    server.unload(name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_execution_that_finds_no_memory_fails_alone_and_is_counted(
    memory_server: Server, device: Device, backend: str
) -> None:
    """One request wants more than there is; the next one, of few bytes, is answered right."""
    server, name = memory_server, f"many_{backend}"
    if backend == "onnxruntime":
        model = gm.onnx_sum_of_many()
    else:
        from tests.support.gpu_modules import SumOfMany

        model = SumOfMany()
    text = gm.config(backend, device, "x:FP32:1 count:INT64:1", "y:FP32:1")
    server.add(name, model, text)
    nothing = np.zeros(1, np.float32)
    assert server.infer(name, x=nothing, count=number(1000)).tolist() == [0.0]
    with pytest.raises(InferenceServerException, match=NO_MEMORY):
        server.infer(name, x=nothing, count=number(NOBODY_HAS // 4))
    assert server.infer(name, x=nothing, count=number(1000)).tolist() == [0.0]
    if device.is_gpu:
        with filled(ROOM):
            with pytest.raises(InferenceServerException, match=NO_MEMORY):
                server.infer(name, x=nothing, count=number(LARGE))
            assert server.infer(name, x=nothing, count=number(1000)).tolist() == [0.0]
        counted = server.metric("shoal_gpu_out_of_memory_total", model=name)
        assert sum(counted.values()) == 2, counted
    server.unload(name)


def test_a_limit_of_the_card_s_memory_refuses_models(
    tmp_path_factory: pytest.TempPathFactory, device: Device, card: str
) -> None:
    server = Server(tmp_path_factory.mktemp("limit"), device, "--model-load-gpu-limit=0:0.00001")
    try:
        heavy(server, "onnxruntime", "limited", MB)
        status, error = server.try_load("limited")
        assert status != 200
        assert "memory limit set for GPU 0 has exceeded" in error, error
    finally:
        server.close()

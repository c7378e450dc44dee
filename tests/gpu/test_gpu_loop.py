"""Large outputs on their way from the device hold up nobody else."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.http as over_http

from tests.support import gpu_models as gm
from tests.support import python_models as pm
from tests.support.gpu_device import Device
from tests.support.gpu_regions import floats, region
from tests.support.gpu_server import ANSWER_S, Server, let_go

READERS = 3
# What a machine with a GPU must keep, and two busy cores of continuous integration.
LATE_ON_GPU_S, LATE_ON_CPU_S = 0.25, 2.0
DOUBLED = """
class TritonPythonModel:
    def execute(self, requests):
        found = [pb_utils.get_input_tensor_by_name(r, "x").as_numpy() for r in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("y", x + x)]) for x in found]
"""


@pytest.mark.parametrize("backend", ["onnxruntime", "pytorch"])
def test_probes_are_answered_while_large_outputs_are_served(
    server: Server, device: Device, backend: str, figures: Any
) -> None:
    if backend == "onnxruntime":
        model = gm.onnx_repeated()
    else:
        from tests.support.gpu_modules import Repeated

        model = Repeated()
    name = f"large_outputs_{backend}"
    size = device.pick(25_000_000, 5_000_000)
    text = gm.config(backend, device, "x:FP32:1 count:INT64:1", "y:FP32:-1", count=READERS)
    server.add(name, model, text)
    done = threading.Event()
    wrong: list[str] = []
    answers: list[int] = []

    def read(part: int) -> None:
        buffer = bytearray(4 * size)
        turn = 0
        while not done.is_set():
            turn += 1
            value = float(100 * part + turn)
            taken = _read_output(server, name, value, size, buffer)
            found = np.frombuffer(buffer, np.float32)
            if taken != 4 * size or not (found == value).all():
                wrong.append(f"reader {part}, turn {turn}: {taken} bytes, {found[:3]}")
            answers.append(1)

    took = _probes_beside(server, read, done, device.pick(4, 1))
    server.unload(name)
    slowest = max(took)
    figures(answers=len(answers), mb=4 * size / 1e6, probes=len(took), slowest_ms=1000 * slowest)
    assert wrong == []
    assert slowest < (LATE_ON_GPU_S if device.is_gpu else LATE_ON_CPU_S)


@pytest.mark.parametrize("backend", ["onnxruntime", "pytorch", "python", "onnxruntime_on_host"])
def test_probes_are_answered_while_large_tensors_lie_in_regions(
    server: Server, device: Device, backend: str, figures: Any
) -> None:
    """Nothing but names and places goes over the connection: what is copied is the server's.

    Python models that want arrays, and models on the CPU, have everything copied by the server.
    """
    name = f"large_regions_{backend}"
    size = device.pick(25_000_000, 2_000_000)
    if backend == "python":
        pm.add(server.root, name, DOUBLED, write_config=False)
        text = gm.config(backend, device, "x:FP32:-1", "y:FP32:-1", count=READERS)
        (server.root / name / "config.pbtxt").write_text(text)
        server.load(name)
    elif backend == "pytorch":
        from tests.support.gpu_modules import Doubled

        text = gm.config(backend, device, "x:FP32:-1", "y:FP32:-1", count=READERS)
        server.add(name, Doubled(), text)
    else:
        where = Device("cpu") if backend == "onnxruntime_on_host" else device
        text = gm.config("onnxruntime", where, "x:FP32:-1", "y:FP32:-1", count=READERS)
        server.add(name, gm.onnx_doubled(), text)
    done = threading.Event()
    answers: list[int] = []
    array = np.arange(size, dtype=np.float32) % 1000
    places = [region(device, 8 * size) for _ in range(READERS)]
    with server.over_http() as client:
        for part, place in enumerate(places):
            place.write(0, array.tobytes())
            client.register_cuda_shared_memory(f"large_{part}", place.handle, 0, 8 * size)

    def ask(part: int) -> None:
        given = over_http.InferInput("x", [size], "FP32")
        given.set_shared_memory(f"large_{part}", 4 * size)
        wanted = over_http.InferRequestedOutput("y")
        wanted.set_shared_memory(f"large_{part}", 4 * size, 4 * size)
        with server.over_http() as client:
            while not done.is_set():
                client.infer(name, [given], outputs=[wanted])
                answers.append(1)

    took = _probes_beside(server, ask, done, device.pick(3, 1))
    right = [np.array_equal(floats(place, 4 * size, size), 2 * array) for place in places]
    let_go(server)
    for place in places:
        place.close()
    server.unload(name)
    slowest = max(took)
    figures(answers=len(answers), mb=4 * size / 1e6, probes=len(took), slowest_ms=1000 * slowest)
    assert right == [True] * READERS
    assert slowest < (LATE_ON_GPU_S if device.is_gpu else LATE_ON_CPU_S)


def _probes_beside(
    server: Server, do: Callable[[int], None], done: threading.Event, seconds: float
) -> list[float]:
    """``_probes`` while each reader does what is given, until ``done``; raises what one raises."""
    with ThreadPoolExecutor(READERS) as pool:
        reading = [pool.submit(do, part) for part in range(READERS)]
        try:
            took = _probes(server, time.monotonic() + seconds)
        finally:
            done.set()
        for reader in reading:
            reader.result()
    return took


def _probes(server: Server, end: float) -> list[float]:
    """The seconds that each of many questions for the server's health took."""
    connection = http.client.HTTPConnection(server.runtime.http, timeout=ANSWER_S)
    took = []
    with contextlib.closing(connection):
        while time.monotonic() < end:
            start = time.monotonic()
            connection.request("GET", "/v2/health/live")
            reply = connection.getresponse()
            reply.read()
            took.append(time.monotonic() - start)
            assert reply.status == 200
    return took


def _read_output(server: Server, name: str, value: float, size: int, buffer: bytearray) -> int:
    """Read y, binary, into ``buffer``; how many bytes came.

    No stock client: it would hold the interpreter, and the probe beside it, to copy the output.
    """
    inputs = [
        {"name": "x", "datatype": "FP32", "shape": [1], "data": [value]},
        {"name": "count", "datatype": "INT64", "shape": [1], "data": [size]},
    ]
    outputs = [{"name": "y", "parameters": {"binary_data": True}}]
    connection = http.client.HTTPConnection(server.runtime.http, timeout=ANSWER_S)
    with contextlib.closing(connection):
        body = json.dumps({"inputs": inputs, "outputs": outputs})
        connection.request("POST", f"/v2/models/{name}/infer", body)
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        reply.read(int(reply.headers["Inference-Header-Content-Length"]))
        view, taken = memoryview(buffer), 0
        while count := reply.readinto(view[taken:]):
            taken += count
        return taken

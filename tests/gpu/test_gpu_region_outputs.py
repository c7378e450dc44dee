"""Every data type, and outputs of unusual memory, by regions of device memory."""

from collections.abc import Iterator
from typing import Any

import pytest
import tritonclient.http as over_http

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_regions import Region, region
from tests.support.gpu_server import Server, let_go
from tests.support.gpu_types import ONNX, TORCH, onnx_of_all_types, values

SHAPE = (3, 5)
PLACE = 256  # bytes of each tensor, and some more
REGION = "places"


@pytest.fixture
def places(server: Server, device: Device) -> Iterator[Region]:
    """A registered region of 64 places."""
    found = region(device, 64 * PLACE)
    found.write(0, bytes(64 * PLACE))
    with server.over_http() as client:
        client.register_cuda_shared_memory(REGION, found.handle, 0, found.size)
    yield found
    try:
        let_go(server)
    finally:
        found.close()


def ask(
    server: Server, places: Region, name: str, inputs: dict[str, Any], outputs: dict[str, int]
) -> dict[str, bytes]:
    """What is in each output's place; ``outputs`` are their bytes. Places are taken in turn."""
    given, wanted, at = [], [], 0
    for key, array in inputs.items():
        tensor = over_http.InferInput(key, list(array.shape), key.removeprefix("x_"))
        tensor.set_shared_memory(REGION, array.nbytes, at * PLACE)
        places.write(at * PLACE, array.tobytes())
        given.append(tensor)
        at += 1
    first = at
    for key, size in outputs.items():
        tensor = over_http.InferRequestedOutput(key)
        tensor.set_shared_memory(REGION, size, at * PLACE)
        wanted.append(tensor)
        at += 1
    with server.over_http() as client:
        client.infer(name, given, outputs=wanted)
    found = {}
    for number, (key, size) in enumerate(outputs.items(), first):
        whole = places.read(number * PLACE, PLACE)
        assert whole[size:] == bytes(PLACE - size), f"written behind {key}"
        found[key] = whole[:size]
    return found


def test_onnx_runtime_s_types_pass_through_regions(
    server: Server, device: Device, places: Region
) -> None:
    tensors = " ".join(f"x_{kind}:{kind}:-1,-1" for kind in ONNX)
    outputs = " ".join(f"y_{kind}:{kind}:-1,-1" for kind in ONNX) + " turned:FP32:-1,-1"
    graph = onnx_of_all_types()
    server.add("region_types", graph, gm.config("onnxruntime", device, tensors, outputs))
    inputs = {f"x_{kind}": values(kind, SHAPE) for kind in ONNX}
    sizes = {f"y_{key[2:]}": array.nbytes for key, array in inputs.items()}
    for _ in range(3):
        found = ask(server, places, "region_types", inputs, sizes | {"turned": 60})
        for key, array in inputs.items():
            assert found[f"y_{key[2:]}"] == array.tobytes(), key
        assert found["turned"] == inputs["x_FP32"].T.tobytes()
        inputs = {key: array[::-1].copy() for key, array in inputs.items()}
    server.unload("region_types")


def test_pytorch_s_types_pass_through_regions(
    server: Server, device: Device, places: Region
) -> None:
    pytest.importorskip("torch")
    from tests.support.gpu_modules import AllTypes

    tensors = " ".join(f"x_{kind}:{kind}:-1,-1" for kind in TORCH)
    kinds = [*TORCH, "FP32", "FP32", "FP32"]
    outputs = " ".join(f"y__{index}:{kind}:-1,-1" for index, kind in enumerate(kinds))
    server.add("region_torch", AllTypes(), gm.config("pytorch", device, tensors, outputs))
    inputs = {f"x_{kind}": values(kind, SHAPE) for kind in TORCH}
    sizes = {f"y__{index}": array.nbytes for index, array in enumerate(inputs.values())}
    turned, again = f"y__{len(TORCH)}", f"y__{len(TORCH) + 1}"
    for _ in range(3):
        found = ask(server, places, "region_torch", inputs, sizes | {turned: 60, again: 60})
        for index, (key, array) in enumerate(inputs.items()):
            assert found[f"y__{index}"] == array.tobytes(), key
        assert found[turned] == inputs["x_FP32"].T.tobytes()
        assert found[again] == inputs["x_FP32"].tobytes()
        inputs = {key: array[::-1].copy() for key, array in inputs.items()}
    server.unload("region_torch")


def test_outputs_go_to_regions_wherever_the_model_made_them(
    server: Server, device: Device, places: Region
) -> None:
    """On the device, on the host, not contiguous, a part of another tensor, the input itself."""
    pytest.importorskip("torch")
    from tests.support.gpu_modules import Places

    outputs = " ".join(f"y__{number}:FP32:-1,-1" for number in range(5))
    server.add("made", Places(), gm.config("pytorch", device, "x_FP32:FP32:-1,-1", outputs))
    for turn in range(3):
        x = values("FP32", SHAPE) + turn
        sizes = {f"y__{number}": x.nbytes for number in range(5)}
        found = ask(server, places, "made", {"x_FP32": x}, sizes)
        expected = [x + 1, x + 1, (x + 1).T, x + 1, x]
        for number, array in enumerate(expected):
            assert found[f"y__{number}"] == array.tobytes(), f"output {number}"
    server.unload("made")

"""Every data type goes to the device and comes back; so do outputs of unusual memory."""

from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server
from tests.support.gpu_types import ONNX, TORCH, onnx_of_all_types, values

MODULES = {"http": over_http, "grpc": over_grpc}


def ask(server: Server, module: Any, name: str, arrays: dict[str, Any]) -> Any:
    inputs = []
    for key, array in arrays.items():
        tensor = module.InferInput(key, list(array.shape), key.removeprefix("x_").partition("_")[0])
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    with server.over_http() if module is over_http else server.over_grpc() as client:
        return client.infer(name, inputs)


@pytest.mark.parametrize("protocol", MODULES)
def test_onnx_runtime_takes_and_gives_every_type(
    server: Server, device: Device, protocol: str
) -> None:
    name = f"onnx_types_{protocol}"
    shape = (3, 5)
    tensors = " ".join(f"x_{kind}:{kind}:-1,-1" for kind in ONNX)
    outputs = " ".join(f"y_{kind}:{kind}:-1,-1" for kind in ONNX)
    outputs += " turned:FP32:-1,-1"
    server.add(name, onnx_of_all_types(), gm.config("onnxruntime", device, tensors, outputs))
    arrays = {f"x_{kind}": values(kind, shape) for kind in ONNX}
    for _ in range(3):  # a binding that is kept is used again
        answer = ask(server, MODULES[protocol], name, arrays)
        for kind in ONNX:
            np.testing.assert_array_equal(answer.as_numpy(f"y_{kind}"), arrays[f"x_{kind}"], kind)
            assert answer.as_numpy(f"y_{kind}").dtype == arrays[f"x_{kind}"].dtype
        np.testing.assert_array_equal(answer.as_numpy("turned"), arrays["x_FP32"].T)
        arrays = {key: array[::-1].copy() for key, array in arrays.items()}
    server.unload(name)


@pytest.mark.parametrize("protocol", MODULES)
def test_pytorch_takes_and_gives_every_type(server: Server, device: Device, protocol: str) -> None:
    """Also an output that is not contiguous, one that is an input twice, and an empty one."""
    pytest.importorskip("torch")
    from tests.support.gpu_modules import AllTypes

    name = f"torch_types_{protocol}"
    tensors = " ".join(f"x_{kind}:{kind}:-1,-1" for kind in TORCH)
    kinds = [*TORCH, "FP32", "FP32", "FP32"]
    outputs = " ".join(f"y__{index}:{kind}:-1,-1" for index, kind in enumerate(kinds))
    server.add(name, AllTypes(), gm.config("pytorch", device, tensors, outputs))
    arrays = {f"x_{kind}": values(kind, (3, 5)) for kind in TORCH}
    for _ in range(3):
        answer = ask(server, MODULES[protocol], name, arrays)
        for index, kind in enumerate(TORCH):
            found = answer.as_numpy(f"y__{index}")
            np.testing.assert_array_equal(found, arrays[f"x_{kind}"], kind)
            assert kind == "BF16" or found.dtype == arrays[f"x_{kind}"].dtype
        turned, again, none = (f"y__{len(TORCH) + number}" for number in range(3))
        np.testing.assert_array_equal(answer.as_numpy(turned), arrays["x_FP32"].T)
        np.testing.assert_array_equal(answer.as_numpy(again), arrays["x_FP32"])
        assert answer.get_output(none) is not None
        arrays = {key: array[::-1].copy() for key, array in arrays.items()}
    server.unload(name)


@pytest.mark.parametrize("backend", ["onnxruntime", "pytorch"])
def test_a_tensor_of_no_numbers_comes_back_as_one(
    server: Server, device: Device, backend: str
) -> None:
    if backend == "onnxruntime":
        model = gm.onnx_doubled()
    else:
        from tests.support.gpu_modules import Doubled

        model = Doubled()
    name = f"nothing_{backend}"
    server.add(name, model, gm.config(backend, device, "x:FP32:-1", "y:FP32:-1"))
    for size in (0, 3, 0):
        array = np.ones(size, np.float32)
        assert server.infer(name, x=array).tolist() == [2.0] * size
    server.unload(name)


def test_a_program_of_torch_export_runs_on_the_card(server: Server, card: str) -> None:
    torch = pytest.importorskip("torch")
    from tests.support.gpu_modules import Product

    folder = server.root / "exported" / "1"
    folder.mkdir(parents=True)
    example = torch.zeros(4, gm.WIDTH)
    rows = {"x": {0: torch.export.Dim("rows", min=1, max=64)}}
    program = torch.export.export(Product(gm.weights(41)), (example,), dynamic_shapes=rows)
    torch.export.save(program, folder / "model.pt")
    tensors = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
    text = gm.config("pytorch", Device("cuda"), *tensors, batch=16)
    (folder.parent / "config.pbtxt").write_text(text)
    server.load("exported")
    for rows_in in (2, 7, 3):
        array = gm.rows_of(rows_in, rows_in)
        np.testing.assert_array_equal(server.infer("exported", x=array), array @ gm.weights(41))
    server.unload("exported")

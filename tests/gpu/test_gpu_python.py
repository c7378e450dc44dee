"""Python models whose tensors are on the device: DLPack there and back."""

from typing import Any

import numpy as np
import pytest

from tests.support import gpu_models as gm
from tests.support import python_models as pm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server

SIZE = 1 << 20
# On a stream of its own that takes some ms: what is copied before its work is done is wrong.
CODE = """
import torch


class TritonPythonModel:
    def initialize(self, args):
        kind = args["model_instance_kind"]
        number = args["model_instance_device_id"]
        self.device = torch.device(f"cuda:{number}" if kind == "GPU" else "cpu")
        self.stream = torch.cuda.Stream(self.device) if kind == "GPU" else None

    def execute(self, requests):
        answers = []
        for request in requests:
            given = pb_utils.get_input_tensor_by_name(request, "x")
            x = torch.from_dlpack(given.to_dlpack()).to(self.device)
            with torch.cuda.stream(self.stream):
                if self.stream is not None:
                    self.stream.wait_stream(torch.cuda.default_stream(self.device))
                many = x.repeat(32) if self.stream is not None else x
                for _ in range(200):
                    many = many + 1
                y = many[: len(x)]
                outputs = [
                    pb_utils.Tensor.from_dlpack("y", y),
                    pb_utils.Tensor.from_dlpack("half", y[:8].half()),
                    pb_utils.Tensor.from_dlpack("long", y[:8].long().reshape(2, 4)),
                    pb_utils.Tensor.from_dlpack("flags", y[:8] > 204),
                    pb_utils.Tensor.from_dlpack("brain", y[:8].bfloat16()),
                ]
                devices = {str(tensor.is_cpu()) for tensor in outputs[:4]}
                where = np.array([",".join(sorted(devices)).encode()], np.object_)
                answers.append(
                    pb_utils.InferenceResponse([*outputs, pb_utils.Tensor("where", where)])
                )
        return answers
"""


def test_tensors_of_the_device_are_answers(server: Server, device: Device) -> None:
    pytest.importorskip("torch")
    outputs = "y:FP32:-1 half:FP16:-1 long:INT64:-1,-1 flags:BOOL:-1 brain:BF16:-1 where:STRING:1"
    pm.add(server.root, "dlpack", CODE, write_config=False)
    # why not the double: the model itself goes to the device that it is told
    text = gm.config("python", Device(device.name), "x:FP32:-1", outputs)
    (server.root / "dlpack" / "config.pbtxt").write_text(text)
    server.load("dlpack")
    for turn in range(device.pick(20, 2)):
        x = (np.arange(SIZE) % 1000 + turn).astype(np.float32)
        found = answer(server, x)
        where = b"False" if device.is_gpu else b"True"
        assert found["where"].tolist() == [where], "not where the model made them"
        np.testing.assert_array_equal(found["y"], x + 200)
        np.testing.assert_array_equal(found["half"], (x[:8] + 200).astype(np.float16))
        np.testing.assert_array_equal(found["long"], (x[:8] + 200).astype(np.int64).reshape(2, 4))
        np.testing.assert_array_equal(found["flags"], x[:8] + 200 > 204)
        np.testing.assert_array_equal(found["brain"], x[:8] + 200)
    server.unload("dlpack")


def answer(server: Server, x: Any) -> dict[str, Any]:
    import tritonclient.http as over_http

    from tests.support.gpu_server import given

    with server.over_http() as client:
        result = client.infer("dlpack", given(over_http, x=x))
    names = [row["name"] for row in result.get_response()["outputs"]]
    return {name: result.as_numpy(name) for name in names}

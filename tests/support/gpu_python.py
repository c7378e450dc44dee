"""Python models that take clients' device memory, and what they say that they saw of it."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http

from tests.support import gpu_models as gm
from tests.support import python_models as pm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server, given, number

SIZE = 1 << 16
BYTES = 4 * SIZE
MODULES = {"http": over_http, "grpc": over_grpc}
NOTHING, KEEP, TAKE_KEPT, CALL, WAIT, CAPSULE = range(6)
# y = 2 x + 1, on a stream of its own that takes some time; what it saw of x.
CODE = """
import os
import time

KEEP, TAKE_KEPT, CALL, WAIT, CAPSULE = range(1, 6)


def opened():
    # the double's device memory is files, which show where they are open
    with open("/proc/self/maps") as maps:
        return sum("/shoal-gpu-" in line for line in maps)


class TritonPythonModel:
    def initialize(self, args):
        global torch
        import torch  # here, for the process that completes the configuration has no use for it

        on_card = args["model_instance_kind"] == "GPU" and torch.cuda.is_available()
        number = args["model_instance_device_id"]
        self.device = torch.device(f"cuda:{number}" if on_card else "cpu")
        self.stream = torch.cuda.Stream(self.device) if on_card else None
        self.gate = os.path.join(args["model_repository"], "go")
        self.kept = None

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        do = int(pb_utils.get_input_tensor_by_name(request, "do").as_numpy()[0])
        given = pb_utils.get_input_tensor_by_name(request, "x")
        said = ""
        try:
            given.as_numpy()
        except pb_utils.TritonModelException as error:
            said = str(error)
        x = torch.from_dlpack(given.to_dlpack())
        again = torch.from_dlpack(given)  # by the object's own methods
        assert again.data_ptr() == x.data_ptr() and again.device == x.device
        del again
        if do == KEEP:
            self.kept = x
        elif do == TAKE_KEPT:
            x, self.kept = self.kept, None
        elif do == WAIT:
            while not os.path.exists(self.gate):
                time.sleep(0.005)
        about = [given.is_cpu(), x.device, os.getpid(), opened(), said]
        with torch.cuda.stream(self.stream):
            many = x.to(self.device)
            if self.stream is not None:
                many = many.repeat(8)
                for _ in range(50):
                    many = many + 1
                many = many - 50
            y = (2 * many + 1)[: x.numel()]
            if do == CAPSULE:
                output = pb_utils.Tensor.from_dlpack("y", torch.utils.dlpack.to_dlpack(y))
            else:
                output = pb_utils.Tensor.from_dlpack("y", y)
        if do == CALL:
            called = pb_utils.InferenceRequest(
                model_name="called_on_host", inputs=[given], requested_output_names=["y"]
            ).exec()
            if called.has_error():
                return pb_utils.InferenceResponse(error=called.error())
            output = pb_utils.get_output_tensor_by_name(called, "y")
        text = np.array(["|".join(map(str, about)).encode()], np.object_)
        return pb_utils.InferenceResponse([output, pb_utils.Tensor("about", text)])
"""
ON_HOST = """
class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("y", 2 * pb_utils.get_input_tensor_by_name(r, "x").as_numpy() + 1)]
            )
            for r in requests
        ]
"""
# As many answers as it is told, from coroutines; the last one's y is x + count - 1.
DECOUPLED = """
import torch


class TritonPythonModel:
    async def execute(self, requests):
        for request in requests:
            count = int(pb_utils.get_input_tensor_by_name(request, "do").as_numpy()[0])
            x = torch.from_dlpack(pb_utils.get_input_tensor_by_name(request, "x"))
            sender = request.get_response_sender()
            for number in range(count):
                about = np.array([str(x.device).encode()], np.object_)
                sender.send(
                    pb_utils.InferenceResponse(
                        [
                            pb_utils.Tensor.from_dlpack("y", x + number),
                            pb_utils.Tensor("about", about),
                        ]
                    ),
                    pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if number == count - 1 else 0,
                )
"""
TENSORS = ("x:FP32:-1 do:INT64:1", "y:FP32:-1 about:STRING:1")
ON_DEVICE = 'parameters { key: "FORCE_CPU_ONLY_INPUT_TENSORS" value { string_value: "no" } }'


class About(NamedTuple):
    """What a model saw of x."""

    is_cpu: bool
    device: str
    pid: int
    opened: int
    said: str


def with_torch(server: Server, device: Device, name: str, *, count: int = 1, extra: str) -> None:
    pytest.importorskip("torch")
    pm.add(server.root, name, CODE, write_config=False)
    text = gm.config("python", device, *TENSORS, count=count, extra=extra)
    (server.root / name / "config.pbtxt").write_text(text)
    server.load(name)


def numbers(seed: int, size: int = SIZE) -> Any:
    return np.random.default_rng(seed).integers(0, 1000, size).astype(np.float32)


def ask(
    server: Server,
    name: str,
    where: tuple[str, int] | Any,
    into: tuple[str, int, int] | None = None,
    *,
    do: int = NOTHING,
    size: int = SIZE,
    protocol: str = "http",
) -> tuple[Any, About]:
    """y and what the model saw; x lies in a region (its name, the offset) or is an array."""
    module = MODULES[protocol]
    if isinstance(where, tuple):
        x = module.InferInput("x", [size], "FP32")
        x.set_shared_memory(where[0], 4 * size, where[1])
        inputs = [x, *given(module, do=number(do))]
    else:
        inputs = given(module, x=where, do=number(do))
    wanted = [module.InferRequestedOutput("y"), module.InferRequestedOutput("about")]
    if into is not None:
        wanted[0].set_shared_memory(into[0], into[2], into[1])
    make = server.over_http if protocol == "http" else server.over_grpc
    with make() as client:
        result = client.infer(name, inputs, outputs=wanted)
        text = result.as_numpy("about")[0].decode()
        is_cpu, device, pid, opened, said = text.split("|")
        about = About(is_cpu == "True", device, int(pid), int(opened), said)
        return None if into is not None else result.as_numpy("y"), about


def registered(server: Server) -> list[str]:
    with server.over_http() as client:
        return [row["name"] for row in client.get_cuda_shared_memory_status()]


def unregister(server: Server, name: str) -> None:
    with server.over_http() as client:
        client.unregister_cuda_shared_memory(name)


def closed_in_process(server: Server, device: Device, name: str) -> bool:
    """The model's process has nothing open; asked with an input that lies in no region."""
    return device.is_gpu or ask(server, name, numbers(0, 8))[1].opened == 0

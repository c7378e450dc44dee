"""Endpoints that are slow for one reason each: their models, their load, and what must be said."""

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import tritonclient.http as triton
from onnx import helper

from tests.support.onnx_models import FP32, graph, model_bytes, tensor

Content = str | bytes
HEAD = "import time\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n\n\n"
# Takes its time once for a batch, asleep or awake.
MODEL = """
class TritonPythonModel:
    def execute(self, requests):
        {work}
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUT", one.inputs()[0].as_numpy())])
            for one in requests
        ]
"""
ASLEEP = "time.sleep({seconds})"
AWAKE = """until = time.process_time() + {seconds}
        while time.process_time() < until:
            sum(range(9))"""
CPU = "instance_group { count: %d kind: KIND_CPU }\n"


def tensors() -> str:
    described = "data_type: TYPE_FP32 dims: [ -1 ]"
    return f'input {{ name: "IN" {described} }}\noutput {{ name: "OUT" {described} }}\n'


def python(
    work: str, seconds: float, config: str = "", instances: int = 1
) -> Mapping[str, Content]:
    """Files of a model's folder."""
    body = HEAD + MODEL.format(work=work.format(seconds=seconds))
    return {
        "1/model.py": body,
        "config.pbtxt": f'backend: "python"\n{tensors()}{CPU % instances}{config}',
    }


def echo() -> Mapping[str, Content]:
    """The quickest that there is: what comes is the answer."""
    given, answered = (tensor(name, FP32, None) for name in ("IN", "OUT"))
    copied = graph([helper.make_node("Identity", ["IN"], ["OUT"])], [given], [answered])
    config = f'platform: "onnxruntime_onnx"\nmax_batch_size: 0\n{tensors()}'
    return {"1/model.onnx": model_bytes(copied), "config.pbtxt": config}


def chain() -> dict[str, Mapping[str, Content]]:
    """An ensemble of three, of which the one in the middle takes the time."""
    names = ("first", "middle", "last")
    steps = ", ".join(
        f'{{ model_name: "{name}" model_version: -1 input_map {{ key: "IN" value: "{came}" }} '
        f'output_map {{ key: "OUT" value: "{goes}" }} }}'
        for name, came, goes in zip(names, ("IN", "a", "b"), ("a", "b", "OUT"), strict=True)
    )
    found = {name: python(ASLEEP, 0.04 if name == "middle" else 0.001) for name in names}
    ensemble = f'platform: "ensemble"\n{tensors()}ensemble_scheduling {{ step [ {steps} ] }}\n'
    return {"chain": {"1/keep": "", "config.pbtxt": ensemble}, **found}


@dataclass(frozen=True)
class Target:
    """Where to send requests. ``path`` is the prefix of ``/v2``."""

    host: str
    port: int
    path: str
    key: str
    authority: str
    model: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)

    def client(self) -> triton.InferenceServerClient:
        return triton.InferenceServerClient(
            f"{self.host}:{self.port}{self.path}",
            ssl=True,
            ssl_context_factory=self.trust,
            network_timeout=60,
        )


Call = Callable[[Target, threading.Event], None]  # until it is set


def asks(shape: tuple[int, ...], *, binary: bool = True) -> Call:
    """One client that asks again and again, by stock tritonclient."""

    def call(to: Target, ended: threading.Event) -> None:
        tensor = triton.InferInput("IN", list(shape), "FP32")
        tensor.set_data_from_numpy(np.ones(shape, np.float32), binary_data=binary)
        wanted = [triton.InferRequestedOutput("OUT", binary_data=binary)]
        with to.client() as client:
            while not ended.is_set():
                client.infer(to.model, [tensor], outputs=wanted, headers=to.headers)

    return call


def anew(to: Target, ended: threading.Event) -> None:
    """A connection for each request."""
    tensor = triton.InferInput("IN", [4], "FP32")
    tensor.set_data_from_numpy(np.ones(4, np.float32))
    while not ended.is_set():
        with to.client() as client:
            client.infer(to.model, [tensor], headers=to.headers)


def once(to: Target, ended: threading.Event) -> None:
    del ended
    tensor = triton.InferInput("IN", [4], "FP32")
    tensor.set_data_from_numpy(np.ones(4, np.float32))
    with to.client() as client:
        client.infer(to.model, [tensor], headers=to.headers)


def drips(to: Target, ended: threading.Event) -> None:
    """A client whose line carries 200 kB a second."""
    tensor = np.ones(8192, np.float32).tobytes()
    described = {
        "inputs": [
            {
                "name": "IN", "shape": [8192], "datatype": "FP32",
                "parameters": {"binary_data_size": len(tensor)},
            }
        ]
    }  # fmt: skip
    head = json.dumps(described).encode()
    body = head + tensor
    line = http.client.HTTPSConnection(to.host, to.port, context=to.trust(), timeout=60)
    while not ended.is_set():
        line.putrequest("POST", f"{to.path}/v2/models/{to.model}/infer")
        for name, value in to.headers.items():
            line.putheader(name, value)
        line.putheader("Content-Length", str(len(body)))
        line.putheader("Inference-Header-Content-Length", str(len(head)))
        line.endheaders()
        for start in range(0, len(body), 4096):
            line.send(body[start : start + 4096])
            ended.wait(0.02)
        answer = line.getresponse()
        answer.read()
        assert answer.status == http.client.OK, answer.status
    line.close()


@dataclass(frozen=True)
class Scenario:
    """``expected``: the first cause that must be named. ``beside``: another endpoint under load."""

    expected: str
    models: Mapping[str, Mapping[str, Content]]  # files by model; clients ask the first one
    call: Call
    callers: int = 1
    replicas: int = 1
    beside: "Scenario | None" = None
    idle: bool = False  # at zero when the load comes

    @property
    def model(self) -> str:
        return next(iter(self.models))


BATCHES = "max_batch_size: 8\n"
WAITS = "dynamic_batching { max_queue_delay_microseconds: 100000 }\n"
SEQUENCES = "max_batch_size: 1\nsequence_batching { max_sequence_idle_microseconds: 60000000 }\n"
BURNS = Scenario("", {"burns": python(AWAKE, 0.02, instances=4)}, asks((4,)), callers=6)

SCENARIOS: Mapping[str, Scenario] = {
    "model": Scenario("model", {"ponders": python(ASLEEP, 0.05)}, asks((4,))),
    "no-batching": Scenario(
        "no_batching", {"single": python(ASLEEP, 0.01, BATCHES)}, asks((1, 4)), callers=8
    ),
    "few-instances": Scenario(
        "few_instances", {"alone": python(ASLEEP, 0.01)}, asks((4,)), callers=8
    ),
    "batch-delay": Scenario(
        "batch_delay", {"patient": python(ASLEEP, 0.001, BATCHES + WAITS)}, asks((1, 4))
    ),
    "ensemble-step": Scenario("ensemble_step", chain(), asks((4,))),
    "json": Scenario("json", {"wordy": echo()}, asks((100_000,), binary=False)),
    "large-payload": Scenario("large_payload", {"heavy": echo()}, asks((4_000_000,))),
    "slow-client": Scenario("slow_client", {"far": echo()}, drips),
    "new-connections": Scenario("new_connections", {"often": echo()}, anew),
    "cpu-full": Scenario(
        "cpu_full", {"busy": python(AWAKE, 0.02, instances=4)}, asks((4,)), callers=6
    ),
    "cold-start": Scenario("cold_start", {"asleep": echo()}, once, callers=20, idle=True),
    "noisy-neighbour": Scenario(
        "noisy_neighbour", {"quiet": python(AWAKE, 0.005)}, asks((4,)), beside=BURNS
    ),
}

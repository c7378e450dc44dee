"""A real runtime counts which Python model calls which other one, with its callers' failures."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import tritonclient.http as http

from node_agent.sampler import parse
from tests.integration.worker_runtime.ensemble_repository import save_ensemble, step
from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime
from wire.samples import ModelCounters

pytestmark = pytest.mark.integration
# Calls what its input says, by its first value: 1 echo twice, 2 itself with 1, 3 an ensemble of
# itself with 1, 4 what fails, 5 nobody, 6 what answers often.
CALLER = """
class TritonPythonModel:
    def execute(self, requests):
        return [self.one(request.inputs()[0].as_numpy()[0]) for request in requests]

    def one(self, what):
        if what == 1:
            found = [self.call("echo", 7), self.call("echo", 8)]
        elif what in (2, 3):
            found = [self.call("caller" if what == 2 else "whole", 1)]
        elif what in (4, 5):
            found = [self.call("fails" if what == 4 else "nobody", 1)]
        else:
            found = [None for _ in self.request("many", 1).exec(decoupled=True)]
        failed = any(one is not None and one.has_error() for one in found)
        answer = np.array([failed, len(found)], np.float32)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", answer)])

    def call(self, model, value):
        return self.request(model, value).exec()

    def request(self, model, value):
        tensor = pb_utils.Tensor("INPUT0", np.array([value], np.float32))
        return pb_utils.InferenceRequest(
            model_name=model, requested_output_names=["OUTPUT0"], inputs=[tensor]
        )
"""
FAILS = """
class TritonPythonModel:
    def execute(self, requests):
        raise ValueError("boom")
"""
MANY = """
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for last in (0, 0, 1):
                found = pb_utils.Tensor("OUTPUT0", np.zeros(1, np.float32))
                sender.send(pb_utils.InferenceResponse([found]), last)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root: Path = tmp_path_factory.mktemp("model-calls") / "models"
    pm.add(root, "echo", pm.ECHO)
    # why one instance more: it calls itself, and waits for the answer
    pm.add(root, "caller", CALLER, config="instance_group { count: 1 kind: KIND_CPU }\n")
    pm.add(root, "fails", FAILS)
    pm.add(root, "many", MANY, config="model_transaction_policy { decoupled: true }\n")
    pairs = ("input", "INPUT0"), ("output", "OUTPUT0")
    tensors = "".join(
        f'{kind} {{ name: "{name}" data_type: TYPE_FP32 dims: [ -1 ] }}\n' for kind, name in pairs
    )
    only = step("caller", {"INPUT0": "INPUT0"}, {"OUTPUT0": "OUTPUT0"})
    save_ensemble(root, "whole", tensors, only, "max_batch_size: 0\n")
    with runtime(root) as found:
        yield found


def counted(server: Runtime) -> ModelCounters:
    """What an agent reads of the caller."""
    text = httpx.get(f"http://127.0.0.1:{server.metrics_port}/metrics").text
    return next(model for model in parse(text) if model.model == "caller")


def test_calls_are_counted_for_whoever_makes_them(server: Runtime) -> None:
    assert counted(server).calls == {}
    begun = time.time()
    with http.InferenceServerClient(server.http, network_timeout=30) as client:
        said = {what: tuple(ask(client, what)) for what in range(1, 7)}
    ended = time.time()
    # What answered with an error, and how many answers there were.
    assert said == {1: (0, 2), 2: (0, 1), 3: (0, 1), 4: (1, 1), 5: (1, 1), 6: (0, 3)}
    found = counted(server)
    # Of the calls of echo two are the client's, two of 2, and two of 3.
    assert found.calls == {
        "echo": 6, "caller": 1, "whole": 1, "fails": 1, "nobody": 1, "many": 1,
    }  # fmt: skip
    assert found.call_failures == {
        "echo": 0, "caller": 0, "whole": 0, "fails": 1, "nobody": 1, "many": 0,
    }  # fmt: skip
    assert found.call_us["whole"] > found.call_us["echo"] / 6 > 0
    assert sum(found.call_us.values()) < 3 * (ended - begun) * 1e6
    assert all(begun - 0.01 <= at <= ended + 0.01 for at in found.last_call.values())


def ask(client: http.InferenceServerClient, what: float) -> list[float]:
    given = http.InferInput("INPUT0", [1], "FP32")
    given.set_data_from_numpy(np.array([what], np.float32))
    found: list[float] = client.infer("caller", [given]).as_numpy("OUTPUT0").tolist()
    return found

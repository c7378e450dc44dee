"""A real runtime tells of single requests: of a model, an ensemble, and a model that calls."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client

from tests.integration.worker_runtime.ensemble_repository import (
    PAIR_IN,
    PAIR_OUT,
    TWICE,
    save_ensemble,
)
from tests.support import onnx_models as om
from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime

pytestmark = pytest.mark.integration
CALLER = """
class TritonPythonModel:
    def execute(self, requests):
        reply = pb_utils.InferenceRequest(
            model_name="echo", requested_output_names=["OUTPUT0"], inputs=requests[0].inputs()
        ).exec()
        assert not reply.has_error(), reply.error().message()
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", one.inputs()[0].as_numpy())])
            for one in requests
        ]
"""
WAITS = """
max_batch_size: 8
dynamic_batching { max_queue_delay_microseconds: 10000000 preferred_batch_size: [ 4 ] }
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("kept") / "models"
    om.save(root, "simple", om.add_sub(), "max_batch_size: 8\n")
    om.save(root, "waits", om.add_sub(), WAITS)
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    pm.add(root, "echo", pm.ECHO)
    pm.add(root, "caller", CALLER)
    with runtime(root) as found:
        look(found)
        yield found


def look(server: Runtime, after: int = 0) -> list[Any]:
    status, found = server.json(
        f"requests?salt=5&after={after}", port=server.metrics_port, method="GET"
    )
    assert status == 200, found
    listed: list[Any] = found["requests"]
    return listed


def ask(server: Runtime, model: str, name: str, *, over: Any = http_client) -> None:
    if model in ("caller", "echo"):
        inputs = [over.InferInput("INPUT0", [1], "FP32")]
        inputs[0].set_data_from_numpy(np.ones(1, np.float32))
    else:
        inputs = [over.InferInput(one, [1, 16], "INT32") for one in ("INPUT0", "INPUT1")]
        for one in inputs:
            one.set_data_from_numpy(np.ones((1, 16), np.int32))
    address = server.http if over is http_client else server.grpc
    with over.InferenceServerClient(address) as client:
        client.infer(model, inputs, headers={"x-request-id": name})


def spans(server: Runtime, name: str) -> list[Any]:
    [told] = [one for one in look(server) if one["id"] == name]
    found: list[Any] = told["spans"]
    return found


@pytest.mark.parametrize("over", [http_client, grpc_client], ids=["http", "grpc"])
def test_the_times_of_a_request_add_up(server: Runtime, over: Any) -> None:
    name = f"one-{over.__name__}"
    ask(server, "simple", name, over=over)
    [span] = spans(server, name)
    parts = [span[f"{one}_us"] for one in ("accept", "queue", "input", "infer", "output")]
    assert all(part >= 0 for part in parts)
    assert span["infer_us"] > 0
    assert sum(parts) <= span["total_us"]
    assert (span["model"], span["batch"], span["via"]) == ("simple", 1, "")


def test_requests_of_one_batch_are_of_one_execution(server: Runtime) -> None:
    names = [f"shared-{number}" for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: ask(server, "waits", name), names))
    found = [one["spans"][0] for one in look(server) if one["id"] in names]
    assert [span["batch"] for span in found] == [4, 4, 4, 4]
    assert len({span["execution"] for span in found}) == 1
    assert all(span["queue_us"] > 0 for span in found)


def test_steps_of_an_ensemble(server: Runtime) -> None:
    ask(server, "twice", "steps")
    whole, first, second = spans(server, "steps")
    assert [one["model"] for one in (whole, first, second)] == ["twice", "simple", "simple"]
    assert [one["parent"] for one in (whole, first, second)] == [-1, 0, 0]
    assert first["start_us"] + first["total_us"] <= second["start_us"] + 1
    assert second["start_us"] + second["total_us"] <= whole["total_us"] + 1


def test_calls_of_a_model(server: Runtime) -> None:
    """It does not say for which of its requests it calls."""
    ask(server, "caller", "calls")
    whole, call = spans(server, "calls")
    assert (whole["model"], call["model"]) == ("caller", "echo")
    assert (call["via"], call["parent"]) == ("call", 0)
    assert 0 < call["start_us"] < call["start_us"] + call["total_us"] < whole["total_us"]


@pytest.mark.parametrize("name", ["", "x" * 65, "x" * 20_000, "a\tb"])
def test_ids_that_nobody_could_look_for_are_not_kept(server: Runtime, name: str) -> None:
    before = max((one["number"] for one in look(server)), default=0)
    ask(server, "simple", name)
    assert look(server, before) == []


@pytest.mark.parametrize("query", ["", "?salt=5", "?salt=-1&after=0", "?salt=x&after=0"])
def test_what_it_refuses(server: Runtime, query: str) -> None:
    status, said = server.json(f"requests{query}", port=server.metrics_port, method="GET")
    assert (status, said) == (400, {"error": "expected ?salt=<number>&after=<number>"})

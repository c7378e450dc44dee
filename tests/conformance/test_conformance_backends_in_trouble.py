"""Models that hang and models that crash: the others answer on, unloading and stopping end."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
from tritonclient.utils import InferenceServerException

from tests.support import python_models as pm
from tests.support.builtin_models import IDENTITY, parameter, place
from tests.support.runtime_process import Runtime, runtime, wait_until

FOR_EVER = """
import time


class TritonPythonModel:
    def execute(self, requests):
        while True:
            time.sleep(1)
"""
CRASH = """
import ctypes


class TritonPythonModel:
    def execute(self, requests):
        ctypes.string_at(0)
"""
NAMES = ("fine", "blocked", "endless", "crashing")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Runtime]:
    root = tmp_path / "models"
    place(root, "fine", IDENTITY)
    # In the server's own process, as models of frameworks are: nobody can end its call.
    place(root, "blocked", IDENTITY + parameter("execute_delay_ms", "3600000"))
    pm.add(root, "endless", FOR_EVER)
    pm.add(root, "crashing", CRASH)
    flags = ("--model-control-mode=explicit", "--load-model=*", "--exit-timeout-secs=1")
    flags += ("--unload-timeout-secs=1",)
    with runtime(root, *flags) as found:
        yield found


def given() -> Any:
    tensor = grpc_client.InferInput("INPUT0", [2], "FP32")
    tensor.set_data_from_numpy(np.array([1, 2], np.float32))
    return tensor


def states(server: Runtime) -> dict[str, str]:
    return {row["name"]: row["state"] for row in server.json("v2/repository/index", {})[1]}


def test_trouble_stays_with_the_model_that_has_it(server: Runtime) -> None:
    with grpc_client.InferenceServerClient(server.grpc) as client:
        ends: list[Any] = []
        for name in ("blocked", "endless"):
            client.async_infer(name, [given()], lambda result, error: ends.append(error))
        for _ in range(3):
            with pytest.raises(InferenceServerException, match=r"killed by SIGSEGV"):
                client.infer("crashing", [given()], client_timeout=30)
            found = client.infer("fine", [given()], client_timeout=5).as_numpy("OUTPUT0")
            assert found.tolist() == [1, 2]
            wait_until(lambda: client.is_model_ready("crashing"), "the process that came back")
        assert not ends
        started = time.monotonic()
        for name in NAMES:
            client.unload_model(name)
        assert time.monotonic() - started < 5
        wait_until(lambda: set(states(server).values()) == {"UNAVAILABLE"}, "the end of all")
        wait_until(lambda: ends, "the end of the request that ran in a process")
        (end,) = ends  # the other's call cannot be ended, and keeps its request
        assert "killed by SIGKILL" in str(end)
        assert "'blocked' version 1 gave no answer for 1 s" in server.log.read_text()
        client.load_model("fine")
        assert client.infer("fine", [given()]).as_numpy("OUTPUT0").tolist() == [1, 2]
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 15


def test_an_instance_that_hangs_leaves_all_the_same(server: Runtime) -> None:
    """A change of instance groups waits for those that go, and not for ever."""
    one, two = (json.dumps(_groups(count)) for count in (1, 2))
    with grpc_client.InferenceServerClient(server.grpc) as client:
        client.load_model("endless", config=two)
        ends: list[Any] = []
        for _ in range(2):
            client.async_infer("endless", [given()], lambda result, error: ends.append(error))
        wait_until(lambda: _in_flight(server, 2), "both requests at the model")
        client.load_model("endless", config=one)
        wait_until(lambda: ends, "the end of the request of the instance that left")
        assert "killed by SIGKILL" in str(ends[0])
        assert client.is_model_ready("endless")


def _groups(count: int) -> dict[str, Any]:
    tensor = {"data_type": "TYPE_FP32", "dims": [-1]}
    return {
        "backend": "python",
        "input": [{"name": "INPUT0", **tensor}],
        "output": [{"name": "OUTPUT0", **tensor}],
        "instance_group": [{"count": count, "kind": "KIND_CPU"}],
    }


def _in_flight(server: Runtime, count: int) -> bool:
    return f'shoal_in_flight_requests{{protocol="grpc"}} {count}' in server.metrics()

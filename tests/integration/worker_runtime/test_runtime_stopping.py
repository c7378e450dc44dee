"""SIGTERM while models are being loaded: the process and all that it started end at once."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http_client

from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration
PROMPT_S = 8.0  # the exit time-out is 30 s; a stub that is asked politely has 5 s
HANG = """
import time
MODULE


class TritonPythonModel:
    def initialize(self, args):
        INITIALIZE

    def execute(self, requests):
        EXECUTE
"""
BLOCK = 'print("blocked", flush=True) or time.sleep(3600)'
WARM = """
model_warmup { name: "one" inputs { key: "INPUT0" value {
  data_type: TYPE_FP32 dims: [1] zero_data: true } } }
"""


def hang(root: Path, where: str) -> None:
    code = HANG
    for place in ("MODULE", "INITIALIZE", "EXECUTE"):
        code = code.replace(place, BLOCK if place == where else "pass")
    pm.add(root, "stuck", code, config=WARM if where == "EXECUTE" else "")


def stubs(server: Runtime) -> list[int]:
    tasks = Path(f"/proc/{server.process.pid}/task")
    children = [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
    return [int(pid) for pid in children]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ended_promptly(server: Runtime) -> None:
    """After SIGTERM: the process and its children. What they shared has no name and goes too."""
    started = stubs(server)
    assert started
    began = time.monotonic()
    assert server.stop() == 0
    took = time.monotonic() - began
    assert took < PROMPT_S, server.log.read_text()
    assert not [pid for pid in started if runs(pid)]


@pytest.mark.parametrize("where", ["MODULE", "INITIALIZE", "EXECUTE"])
def test_a_runtime_that_loads_ends_at_once(tmp_path: Path, where: str) -> None:
    """In the model's import (and auto-complete), its initialize, and its warm-up."""
    (root := tmp_path / "models").mkdir()
    hang(root, where)
    with runtime(root, "--drain-secs=30", ready=False) as server:
        wait_until(lambda: "blocked" in server.log.read_text(), "the model to block")
        ended_promptly(server)
        said = server.log.read_text()
    assert "Traceback" not in said
    assert "failed to load" not in said, "nothing is wrong with the model"


def test_a_load_that_cannot_be_interrupted_is_left_behind(tmp_path: Path) -> None:
    """As in a library that reads a large file: nothing ends its thread but the process's end."""
    (root := tmp_path / "models").mkdir()
    config = """
    backend: "identity"
    input { name: "INPUT0" data_type: TYPE_FP32 dims: [1] }
    output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [1] }
    parameters { key: "creation_delay_sec" value { string_value: "3600" } }
    """
    (root / "stuck" / "1").mkdir(parents=True)
    (root / "stuck" / "config.pbtxt").write_text(config)
    with runtime(root, ready=False) as server:
        wait_until(lambda: "loading: stuck" in server.log.read_text(), "the model to load")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < PROMPT_S
        assert "it is left behind" in server.log.read_text()


def test_what_serves_is_drained_while_another_load_is_given_up(tmp_path: Path) -> None:
    (root := tmp_path / "models").mkdir()
    slow = pm.ECHO.replace("answers = []", 'print("busy", flush=True); time.sleep(2); answers = []')
    pm.add(root, "slow", "import time\n" + slow)
    hang(root, "INITIALIZE")
    flags = ("--model-control-mode=explicit", "--load-model=slow")
    with runtime(root, *flags) as server:
        answers: list[float] = []
        refusals: list[int] = []

        def ask() -> None:
            given = http_client.InferInput("INPUT0", [1], "FP32")
            given.set_data_from_numpy(np.full(1, 7, np.float32))
            with http_client.InferenceServerClient(server.http) as client:
                answers.append(float(client.infer("slow", [given]).as_numpy("OUTPUT0")[0]))

        def load() -> None:
            refusals.append(server.call("v2/repository/models/stuck/load", b"{}")[0])

        threads = [threading.Thread(target=work) for work in (load, ask)]
        for thread, word in zip(threads, ("blocked", "busy"), strict=True):
            thread.start()
            wait_until(lambda word=word: word in server.log.read_text(), word)
        ended_promptly(server)
        for thread in threads:
            thread.join(10)
    assert answers == [7]
    assert refusals == [400]


@pytest.mark.parametrize("drain", [[], ["--drain-secs=300"]], ids=["at once", "drained"])
def test_a_further_signal_cuts_the_wait_for_what_runs(tmp_path: Path, drain: list[str]) -> None:
    (root := tmp_path / "models").mkdir()
    pm.add(root, "stuck", HANG.replace("EXECUTE", BLOCK).replace("INITIALIZE", "pass"))
    code = root / "stuck" / "1" / "model.py"
    code.write_text(code.read_text().replace("MODULE", "", 1))
    ends: list[int] = []
    with runtime(root, "--exit-timeout-secs=300", *drain) as server:

        def ask() -> None:
            given = {"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1]}
            body = json.dumps({"inputs": [given]}).encode()
            ends.append(server.call("v2/models/stuck/infer", body)[0])

        asking = threading.Thread(target=ask)
        asking.start()
        wait_until(lambda: "blocked" in server.log.read_text(), "the model to block")
        for word in [*(["draining:"] if drain else []), "stopping:"]:
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda word=word: word in server.log.read_text(), word)
        ended_promptly(server)
        asking.join(10)
    assert ends == [500]


def test_a_model_that_comes_back_ends_at_once_too(tmp_path: Path) -> None:
    """Its process died, and the new one is in initialize when the server stops."""
    (root := tmp_path / "models").mkdir()
    mark = tmp_path / "again"
    code = pm.ECHO.replace(
        "    def execute",
        "    def initialize(self, args):\n"
        f"        if os.path.exists({str(mark)!r}):\n"
        '            print("blocked", flush=True) or time.sleep(3600)\n\n'
        "    def execute",
    )
    pm.add(root, "echo", "import os, time\n" + code)
    with runtime(root) as server:
        mark.touch()
        (stub,) = stubs(server)
        os.kill(stub, signal.SIGKILL)
        wait_until(lambda: "blocked" in server.log.read_text(), "the model to come back")
        ended_promptly(server)

"""Reloads under load, memory over many cycles, polling, overrides and start-up rules."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from onnx import helper, numpy_helper
from tritonclient.utils import InferenceServerException

from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until

_TICKS = count(1)
GROUP = "instance_group { count: %d kind: KIND_CPU }\n"
ALL = "version_policy { all {} }\n"


def write_config(root: Path, text: str) -> None:
    path = root / "config.pbtxt"
    path.write_text(text)
    now = 1_700_000_000_000_000_000 + next(_TICKS) * 1_000_000
    os.utime(path, ns=(now, now))


def client_of(server: Runtime, kind: str) -> Any:
    module = http_client if kind == "http" else grpc_client
    return module.InferenceServerClient(getattr(server, kind))


def infer(client: Any, kind: str, model: str = "m", rows: int = 1, version: str = "") -> Any:
    module = http_client if kind == "http" else grpc_client
    inputs = []
    for name in ("INPUT0", "INPUT1"):
        item = module.InferInput(name, [rows, 16], "INT32")
        item.set_data_from_numpy(np.full((rows, 16), 3, np.int32))
        inputs.append(item)
    return client.infer(model, inputs, model_version=version).as_numpy("OUTPUT0")


@contextmanager
def callers(server: Runtime, kinds: tuple[str, ...]) -> Iterator[Callable[[], int]]:
    """Clients that call without a pause; gives how many answers there were, raises on an error."""
    stop, answers, errors = threading.Event(), count(), []
    answered = [0]

    def call(kind: str) -> None:
        with client_of(server, kind) as client:
            while not stop.is_set():
                try:
                    assert (infer(client, kind) == 6).all()
                except Exception as error:
                    errors.append(f"{kind}: {error}")
                    return
                answered[0] = next(answers) + 1

    threads = [threading.Thread(target=call, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    try:
        yield lambda: answered[0]
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert not errors, errors


def test_no_request_fails_because_of_a_reload(tmp_path: Path) -> None:
    root = tmp_path / "models"
    model = om.save(root, "m", om.add_sub(), "max_batch_size: 4\n" + GROUP % 1)
    with runtime(root, "--model-control-mode=explicit", "--load-model=m") as server:
        with callers(server, ("http", "grpc", "http", "grpc")) as answered:
            for turn in range(48):
                kind = ("http", "grpc")[turn % 2]
                before = answered()
                with client_of(server, kind) as client:
                    match turn % 6:
                        case 0:  # another configuration: new beside old
                            write_config(model, f"max_batch_size: {4 + turn}\n" + GROUP % 1)
                            client.load_model("m")
                        case 1 | 2:  # instances only: in place
                            text = model.joinpath("config.pbtxt").read_text().splitlines()[0]
                            write_config(model, f"{text}\n" + GROUP % (turn % 3 + 1))
                            client.load_model("m")
                        case 3:  # a version more
                            om.save(root, "m", om.add_sub(), version=turn + 2)
                            client.load_model("m")
                        case 4:  # a configuration that came with the request
                            override = {"backend": "onnxruntime", "max_batch_size": 2}
                            client.load_model("m", config=json.dumps(override))
                        case 5:  # a failure: what serves goes on
                            write_config(model, "no_such_field: 1")
                            with pytest.raises(InferenceServerException, match="failed to poll"):
                                client.load_model("m")
                            write_config(model, f"max_batch_size: {turn}\n" + GROUP % 1)
                            client.load_model("m")
                wait_until(lambda before=before: answered() > before + 4, f"answers, turn {turn}")
        assert "failed on" not in server.log.read_text()


WHOLE = """
platform: "ensemble"
max_batch_size: 2
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] }
ensemble_scheduling {
  step { model_name: "first" model_version: -1
    input_map { key: "INPUT0" value: "INPUT0" } input_map { key: "INPUT1" value: "INPUT1" }
    output_map { key: "OUTPUT0" value: "sum" } output_map { key: "OUTPUT1" value: "zero" } }
  step { model_name: "second" model_version: -1
    input_map { key: "INPUT0" value: "sum" } input_map { key: "INPUT1" value: "zero" }
    output_map { key: "OUTPUT0" value: "OUTPUT0" } }
}
"""


def test_ensembles_answer_while_their_parts_are_reloaded(tmp_path: Path) -> None:
    root = tmp_path / "models"
    parts = [
        om.save(root, name, om.add_sub(), "max_batch_size: 4\n") for name in ("first", "second")
    ]
    (root / "m" / "1").mkdir(parents=True)
    write_config(root / "m", WHOLE)
    flags = ("--model-control-mode=explicit", "--load-model=m")
    with runtime(root, *flags) as server, client_of(server, "http") as client:
        with callers(server, ("http", "grpc")) as answered:
            for turn in range(24):
                before = answered()
                part = parts[turn % 2]
                groups = GROUP % (turn % 3 + 1)
                write_config(part, f"max_batch_size: {4 + turn // 6}\n" + groups)
                client.load_model(part.name)
                if turn % 5 == 0:
                    write_config(root / "m", WHOLE)
                    client.load_model("m")
                wait_until(lambda before=before: answered() > before + 2, f"answers, turn {turn}")


def resident_kib(server: Runtime) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def save_heavy(root: Path, rows: int) -> None:
    """A product with ``rows`` x 1024 weights."""
    weights = numpy_helper.from_array(np.ones((rows, 1024), np.float32), "w")
    body = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [om.tensor("x", om.FP32, "N", rows)],
        [om.tensor("y", om.FP32, "N", 1024)],
        [weights],
    )
    om.save(root, "heavy", body, "max_batch_size: 4\n" + GROUP % 1)


def unloaded(client: Any) -> bool:
    return bool(client.get_model_repository_index()[0].get("reason") == "unloaded")


def test_memory_comes_back_over_many_cycles(tmp_path: Path) -> None:
    """8 MiB of weights, loaded, used and unloaded 60 times."""
    root = tmp_path / "models"
    save_heavy(root, 2048)
    sizes = []
    with runtime(root, "--model-control-mode=explicit") as server:
        with client_of(server, "http") as client:
            for _ in range(60):
                client.load_model("heavy")
                item = http_client.InferInput("x", [4, 2048], "FP32")
                item.set_data_from_numpy(np.ones((4, 2048), np.float32))
                assert client.infer("heavy", [item]).as_numpy("y")[0, 0] == 2048
                client.unload_model("heavy")
                wait_until(lambda: unloaded(client), "unloaded")
                sizes.append(resident_kib(server))
    # why the least of several on both sides: pages go back in a thread once a model says that it is
    # unloaded, and on a busy machine one look may come before that; a leak is in all of them.
    assert min(sizes[-10:]) - min(sizes[5:15]) < 12 * 1024, sizes


def test_memory_of_the_first_models_comes_back_at_once(tmp_path: Path) -> None:
    """What was loaded at start is out of the garbage collector's sight: it must go by itself."""
    save_heavy(tmp_path / "models", 16384)
    flags = ("--model-control-mode=explicit", "--load-model=heavy")
    with runtime(tmp_path / "models", *flags) as server, client_of(server, "http") as client:
        for _ in range(2):
            before = resident_kib(server)
            client.unload_model("heavy")
            wait_until(lambda: unloaded(client), "unloaded")
            wait_until(
                lambda before=before: before - resident_kib(server) > 50 * 1024, "64 MiB less", 10
            )
            client.load_model("heavy")


def test_polling_follows_the_disk(tmp_path: Path) -> None:
    root, spare = tmp_path / "models", tmp_path / "spare"
    om.save(root, "m", om.add_sub(), ALL)
    om.save(root, "m", om.add_sub(), version=2)
    om.save(spare, "late", om.add_sub())
    flags = ("--model-control-mode=poll", "--repository-poll-secs=1")
    with runtime(root, *flags) as server, client_of(server, "grpc") as client:
        with pytest.raises(InferenceServerException) as caught:
            client.load_model("m")
        assert caught.value.message() == (
            "explicit model load / unload is not allowed if polling is enabled"
        )
        assert server.json("v2/repository/models/m/unload", {})[0] == 503
        shutil.copytree(spare / "late", root / "late")
        shutil.rmtree(root / "m" / "1")
        wait_until(lambda: server.call("v2/models/late/ready")[0] == 200, "the new model")
        wait_until(lambda: server.call("v2/models/m/versions/1/ready")[0] == 503, "version 1 goes")
        assert server.call("v2/models/m/ready")[0] == 200
        shutil.rmtree(root / "late")
        wait_until(lambda: server.call("v2/models/late/ready")[0] == 404, "it goes")
        wait_until(lambda: server.call("v2/health/ready")[0] == 200, "ready")


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_files_of_a_request_are_served(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "models"
    om.save(root, "m", om.add_sub(), version=3)
    content = (root / "m" / "3" / "model.onnx").read_bytes()
    config = json.dumps({"backend": "onnxruntime"})
    with runtime(root, "--model-control-mode=explicit", "--load-model=*") as server:
        with client_of(server, kind) as client:
            for parameters in (
                {"files": {"file:1/model.onnx": content}},
                {"files": {"file:../../x": content}, "config": config},
            ):
                with pytest.raises(InferenceServerException) as caught:
                    client.load_model("m", **parameters)
                assert caught.value.message() == (
                    "failed to load 'm', failed to poll from model repository"
                )
            assert client.is_model_ready("m", "3")
            for name in ("elsewhere", "m"):
                client.load_model(name, config=config, files={"file:1/model.onnx": content})
                assert (infer(client, kind, name, version="1") == 6).all()
            wait_until(lambda: server.call("v2/models/m/versions/3/ready")[0] == 503, "3 goes")
            names = {row["name"] for row in server.json("v2/repository/index", {})[1]}
            assert names == {"m"}, "what no repository has is not listed"
            client.load_model("m")
            assert client.is_model_ready("m", "3")
            client.unload_model("elsewhere")


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("%20", 400, "model name must not contain only whitespace characters"),
        (
            "a..b",
            400,
            "invalid model name 'a..b', model name must not contain path traversal characters",
        ),
        ("nobody", 500, "failed to load 'nobody', failed to poll from model repository"),
    ],
)
def test_names_that_cannot_be_loaded(
    server: Runtime, tmp_path: Path, name: str, status: int, text: str
) -> None:
    om.save(tmp_path / "models", "m", om.add_sub())
    refused = "explicit model load / unload is not allowed if polling is enabled"
    for verb in ("load", "unload"):
        assert server.json(f"v2/repository/models/{name}/{verb}", {}) == (503, {"error": refused})
    with runtime(tmp_path / "models", "--model-control-mode=explicit") as explicit:
        answer = explicit.json(f"v2/repository/models/{name}/load", {})
        assert answer == (status, {"error": text})
        assert explicit.call(f"v2/repository/models/{name}/unload", b"")[0] == 200


def test_several_repositories(tmp_path: Path) -> None:
    root, other = tmp_path / "models", tmp_path / "other"
    om.save(root, "both", om.add_sub())
    om.save(root, "here", om.add_sub())
    om.save(other, "both", om.add_sub())
    om.save(other, "there", om.add_sub())
    flags = (f"--model-repository={other}", "--exit-on-error=false")
    with runtime(root, *flags, ready=False) as server:
        for name in ("here", "there"):
            wait_until(lambda name=name: server.call(f"v2/models/{name}/ready")[0] == 200, name)
        assert server.json("v2/repository/index", {})[1] == [
            {
                "name": "both",
                "state": "UNAVAILABLE",
                "reason": "model appears in two or more repositories",
            },
            {"name": "here", "version": "1", "state": "READY"},
            {"name": "there", "version": "1", "state": "READY"},
        ]
        assert server.call("v2/models/both/ready")[0] == 404
    with runtime(root, flags[0], ready=False) as server:
        assert server.process.wait(30) == 1


def test_a_server_without_a_usable_repository_is_not_live(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with runtime(missing, "--exit-on-error=false", ready=False) as server:
        reason = f"error: creating server: Internal - failed to stat file {missing}"
        wait_until(lambda: reason in server.log.read_text(), "the reason")
        wait_until(lambda: server.call("v2/health/live")[0] == 400, "not live")
        assert server.call("v2/health/ready")[0] == 400
    with runtime(missing, ready=False) as server:
        assert server.process.wait(30) == 1


COUNTING = """
import os, time
import triton_python_backend_utils as pb_utils

HERE = os.path.dirname(os.path.abspath(__file__)) + "/../../.."


class TritonPythonModel:
    def note(self, what):
        with open(HERE + "/" + what, "a") as file:
            file.write("x")

    def initialize(self, args):
        while os.path.exists(HERE + "/hold"):
            time.sleep(0.01)
        self.note("initialized")

    def execute(self, requests):
        answers = []
        for request in requests:
            given = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", given)]))
        return answers

    def finalize(self):
        self.note("finalized")
"""
PYTHON = """
backend: "python"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
"""


def test_python_instances_come_and_go_one_by_one(tmp_path: Path) -> None:
    root = tmp_path / "models"
    model = root / "m"
    (model / "1").mkdir(parents=True)
    (model / "1" / "model.py").write_text(COUNTING)

    def counts() -> tuple[int, int]:
        found = [tmp_path / name for name in ("initialized", "finalized")]
        return tuple(len(path.read_text()) if path.exists() else 0 for path in found)  # type: ignore[return-value]

    def call(server: Runtime) -> tuple[int, Any]:
        item = {"name": "INPUT0", "datatype": "FP32", "shape": [2], "data": [1, 2]}
        return server.json("v2/models/m/infer", {"inputs": [item]})

    with runtime(root, "--model-control-mode=explicit") as server:
        with client_of(server, "grpc") as client:
            expected = [(3, (3, 0)), (4, (4, 0)), (3, (4, 1)), (4, (5, 1))]
            for instances, made in expected:
                write_config(model, PYTHON + GROUP % instances)
                client.load_model("m")
                assert counts() == made
                assert call(server)[0] == 200
            write_config(model, PYTHON + "instance_group { no such thing")
            with pytest.raises(InferenceServerException):
                client.load_model("m")
            assert counts() == (5, 1)

            (tmp_path / "hold").touch()
            write_config(model, PYTHON + GROUP % 5)
            update = threading.Thread(target=client.load_model, args=("m",))
            update.start()
            for _ in range(5):
                assert call(server)[0] == 200, "an instance that is being made blocks nobody"
            assert update.is_alive()
            (tmp_path / "hold").unlink()
            update.join(30)
            assert counts() == (6, 1)

            write_config(model, PYTHON + "max_batch_size: 2\n" + GROUP % 2)
            client.load_model("m")
            wait_until(lambda: counts() == (8, 6), "the old ones end")
            client.unload_model("m")
            wait_until(lambda: counts() == (8, 8), "all have ended")

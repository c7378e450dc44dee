"""Python models in a real server, called by stock clients: what Triton's authors rely on."""

import json
import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime, wait_until

TEXT_IN, TEXT_OUT = "INPUT0:STRING:1", "OUTPUT0:STRING:1"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("python") / "models"
    pm.add(root, "echo", pm.ECHO)
    pm.add(root, "batches", pm.ECHO, config="max_batch_size: 8 dynamic_batching {}")
    pm.add(root, "texts", pm.ECHO, inputs="INPUT0:STRING:-1", outputs="OUTPUT0:STRING:-1")
    about = pm.add(root, "about", pm.ABOUT, outputs=TEXT_OUT)
    (about / "1" / "helper.py").write_text("VALUE = 'helped'\n")
    (about / "1" / "beside.py").write_text("VALUE = '!'\n")
    pm.add(root, "faults", pm.FAULTS, inputs=TEXT_IN, outputs=TEXT_OUT)
    pm.add(
        root,
        "slow",
        pm.FAULTS,
        inputs=TEXT_IN,
        outputs=TEXT_OUT,
        config='parameters { key: "EXECUTE_TIMEOUT_SECONDS" value { string_value: "1" } }',
    )
    pm.add(
        root,
        "count",
        pm.COUNT,
        inputs="INPUT0:INT32:2",
        outputs="OUTPUT0:INT32:1",
        config="model_transaction_policy { decoupled: true }",
    )
    pm.add(root, "caller", pm.CALLER, inputs="INPUT0:FP32:-1 MODE:STRING:1")
    pm.add(root, "coroutine", pm.COROUTINE)
    pm.add(root, "completes", pm.COMPLETES, write_config=False)
    pm.add(root, "metrics", pm.METRICS, outputs="OUTPUT0:FP32:2")
    pm.add(root, "dlpack", pm.DLPACK)
    pm.add(root, "is_ready", pm.READY)
    pm.add(root, "life", pm.LIFE)
    return root


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Runtime]:
    flags = ("--model-control-mode=explicit", "--load-model=*")
    with runtime(models, *flags) as found:
        yield found


@pytest.fixture
def client(server: Runtime) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(server.http, concurrency=16, network_timeout=60) as found:
        yield found


def tensor(array: np.ndarray, name: str = "INPUT0", kind: Any = http) -> Any:
    datatype = {"f": "FP32", "i": "INT32", "O": "BYTES"}[array.dtype.kind]
    made = kind.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def text(value: str) -> np.ndarray:
    return np.array([value.encode()], dtype=object)


def test_tensors_of_any_size_come_back(client: http.InferenceServerClient) -> None:
    for size in (0, 1, 1000, 3_000_000):
        given = np.arange(size, dtype=np.float32)
        found = client.infer("echo", [tensor(given)]).as_numpy("OUTPUT0")
        assert np.array_equal(found, given), size


def test_texts_come_back(client: http.InferenceServerClient) -> None:
    given = np.array([b"", "ünï".encode(), b"\x00\xff" * 1000], dtype=object)
    assert client.infer("texts", [tensor(given)]).as_numpy("OUTPUT0").tolist() == given.tolist()


def test_requests_that_wait_come_together_and_unmerged(
    client: http.InferenceServerClient, server: Runtime
) -> None:
    def asked(i: int) -> Any:
        given = np.full((1 + i % 3, 4), i, np.float32)
        return client.async_infer("batches", [tensor(given)])

    pending = [asked(i) for i in range(60)]
    for i, one in enumerate(pending):
        found = one.get_result().as_numpy("OUTPUT0")
        assert found.shape == (1 + i % 3, 4)
        assert (found == i).all()
    (stats,) = server.json("v2/models/batches/stats")[1]["model_stats"]
    assert stats["inference_count"] == sum(1 + i % 3 for i in range(60))
    assert stats["execution_count"] <= 60


def test_a_request_tells_all_about_itself(client: http.InferenceServerClient) -> None:
    result = client.infer(
        "about",
        [tensor(np.zeros(1, np.float32))],
        request_id="r1",
        timeout=5_000_000,
        parameters={"n": 5, "s": "t", "b": True},
    )
    facts = json.loads(result.as_numpy("OUTPUT0")[0])
    assert facts["id"] == "r1"
    assert facts["timeout"] == 5_000_000
    assert facts["parameters"] == {"n": 5, "s": "t", "b": True}
    assert facts["outputs"] == ["OUTPUT0"]
    assert facts["output_type"] == "object"
    assert facts["decoupled"] is False
    assert facts["helper"] == "helped!"
    args = facts["args"]
    assert (args["model_name"], args["model_version"]) == ("about", "1")
    assert args["model_instance_kind"] == "CPU"
    assert Path(args["model_repository"]).name == "about"
    assert result.get_response()["parameters"] == {"a": 1, "b": "x", "c": True}


@pytest.mark.parametrize(
    ("what", "status", "words"),
    [
        ("raise", "500", "message: ValueError: boom"),
        ("none", "500", "Expected a list in the execute return"),
        ("few", "500", "InferenceRequest(s) size is:1, and InferenceResponse(s) size is:0"),
        ("wrong", "500", "found type '<class 'int'>'"),
        ("code:0", "400", "told"),
        ("code:1", "500", "told"),
        ("code:2", "404", "told"),
        ("code:3", "400", "told"),
        ("code:4", "503", "told"),
        ("code:5", "501", "told"),
        ("code:6", "400", "told"),
        ("code:7", "400", "told"),
    ],
)
def test_errors_reach_the_client_with_code_and_text(
    client: http.InferenceServerClient, what: str, status: str, words: str
) -> None:
    with pytest.raises(InferenceServerException) as caught:
        client.infer("faults", [tensor(text(what))])
    assert caught.value.status() == status
    assert words in caught.value.message()


def test_a_process_that_dies_says_its_last_words_and_comes_back(
    client: http.InferenceServerClient, server: Runtime
) -> None:
    with pytest.raises(InferenceServerException) as caught:
        client.infer("faults", [tensor(text("die"))])
    assert "exited with code 3" in caught.value.message()
    assert "last words of the model" in caught.value.message()
    found = client.infer("faults", [tensor(text("back"))])
    assert found.as_numpy("OUTPUT0").tolist() == [b"back"]
    wait_until(lambda: client.is_model_ready("faults"), "the model is ready again")


def test_a_process_that_is_killed_costs_no_later_call(client: http.InferenceServerClient) -> None:
    answer = client.infer("faults", [tensor(text("pid"))]).as_numpy("OUTPUT0")
    pid = int(answer[0])
    os.kill(pid, signal.SIGKILL)
    # why: a busy machine ends it a moment later, and what it is given until then is lost with it
    wait_until(lambda: _ended(pid), "the process has ended")
    for _ in range(20):
        answer = client.infer("faults", [tensor(text("here"))]).as_numpy("OUTPUT0")
        assert answer.tolist() == [b"here"]


def _ended(pid: int) -> bool:
    """It is gone, or waits for its parent to notice: all of its threads, which share its files."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return "\nState:\tZ" in status and "\nThreads:\t1\n" in status
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_batch_that_takes_too_long_is_ended(client: http.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match="did not answer within 1 s"):
        client.infer("slow", [tensor(text("hang"))])
    assert client.infer("slow", [tensor(text("ok"))]).as_numpy("OUTPUT0").tolist() == [b"ok"]


def streamed(server: Runtime, *counts: tuple[int, int], leave_after: int = 0) -> list[Any]:
    answers: SimpleQueue[Any] = SimpleQueue()
    found: list[Any] = []
    with grpc.InferenceServerClient(server.grpc) as client:
        client.start_stream(callback=partial(lambda result, error: answers.put((result, error))))
        for number, (count, pause) in enumerate(counts):
            given = tensor(np.array([count, pause], np.int32), kind=grpc)
            client.async_stream_infer(
                "count", [given], request_id=str(number), enable_empty_final_response=True
            )
        finals = 0
        while finals < len(counts):
            result, error = answers.get(timeout=30)
            assert error is None, error
            response = result.get_response()
            final = response.parameters["triton_final_response"].bool_param
            finals += final
            if response.outputs:
                found.append((response.id, int(result.as_numpy("OUTPUT0")[0])))
            if leave_after and len(found) == leave_after:
                client.stop_stream(cancel_requests=True)
                break
    return found


def test_decoupled_models_answer_as_often_as_they_like(server: Runtime) -> None:
    found = streamed(server, (3, 0), (0, 0), (2, 0))
    assert [number for name, number in found if name == "0"] == [0, 1, 2]
    assert [number for name, number in found if name == "2"] == [0, 1]
    assert len(found) == 5


def test_a_client_that_leaves_is_noticed_by_the_model(server: Runtime) -> None:
    assert len(streamed(server, (100_000, 2), leave_after=3)) == 3

    def idle() -> bool:
        text = server.metrics()
        (line,) = [
            row
            for row in text.splitlines()
            if row.startswith('nv_inference_exec_count{model="count"')
        ]
        return bool(line) and len(streamed(server, (1, 0))) == 1

    wait_until(idle, "the model answers others")


@pytest.mark.parametrize(
    ("mode", "expected"), [("sync", [1, 2]), ("async", [3, 6]), ("count", [0, 1, 2])]
)
def test_models_call_other_models(
    client: http.InferenceServerClient, mode: str, expected: list[float]
) -> None:
    inputs = [tensor(np.array([1, 2], np.float32)), tensor(text(mode), "MODE")]
    assert client.infer("caller", inputs).as_numpy("OUTPUT0").tolist() == expected


def test_errors_of_called_models_arrive(client: http.InferenceServerClient) -> None:
    inputs = [tensor(np.array([1], np.float32)), tensor(text("missing"), "MODE")]
    with pytest.raises(InferenceServerException) as caught:
        client.infer("caller", inputs)
    assert caught.value.status() == "500"
    assert caught.value.message() == (
        "Model nope - Error when running inference: Failed for execute the inference request. "
        "Model 'nope' is not ready."
    )


def test_coroutines_execute(client: http.InferenceServerClient) -> None:
    given = np.array([1, 2], np.float32)
    assert client.infer("coroutine", [tensor(given)]).as_numpy("OUTPUT0").tolist() == [2, 3]


def test_a_model_completes_its_own_configuration(client: http.InferenceServerClient) -> None:
    config = client.get_model_config("completes")
    assert config["max_batch_size"] == 4
    assert "dynamic_batching" in config
    assert config["input"][0]["name"] == "INPUT0"
    given = np.ones((2, 3), np.float32)
    assert client.infer("completes", [tensor(given)]).as_numpy("OUTPUT0").shape == (2, 3)


def test_metrics_of_models_stand_beside_the_servers(
    client: http.InferenceServerClient, server: Runtime
) -> None:
    found = client.infer("metrics", [tensor(np.array([7], np.float32))]).as_numpy("OUTPUT0")
    assert found.tolist() == [1, 7]
    text = server.metrics()
    samples = dict(re.findall(r"^(test_\w+\{.*?\}) ([\d.]+)$", text, re.MULTILINE))
    assert float(samples['test_calls{model="metrics"}']) == 1
    assert float(samples['test_level{model="metrics"}']) == 7
    assert float(samples['test_sizes_count{model="metrics"}']) == 1
    assert "# TYPE test_calls counter" in text


def test_tensors_go_through_dlpack(client: http.InferenceServerClient) -> None:
    given = np.array([1, 2], np.float32)
    assert client.infer("dlpack", [tensor(given)]).as_numpy("OUTPUT0").tolist() == [2, 4]


def test_is_ready_decides_readiness(client: http.InferenceServerClient, models: Path) -> None:
    flag = models / "is_ready" / "not-ready"
    assert client.is_model_ready("is_ready")
    flag.touch()
    try:
        wait_until(lambda: not client.is_model_ready("is_ready"), "not ready")
        assert not client.is_server_ready()
    finally:
        flag.unlink()
    wait_until(lambda: client.is_model_ready("is_ready"), "ready again")


def test_logs_reach_the_server(server: Runtime) -> None:
    assert "initialized about" in server.log.read_text()


def test_finalize_runs_and_a_refusal_is_told(
    client: http.InferenceServerClient, models: Path
) -> None:
    folder = models / "life"
    client.unload_model("life")
    wait_until(lambda: (folder / "finalized").exists(), "finalize ran")
    (folder / "refuse").touch()
    with pytest.raises(InferenceServerException, match="not today"):
        client.load_model("life")
    (folder / "refuse").unlink()
    client.load_model("life")
    assert client.is_model_ready("life")


def test_a_model_without_a_class_is_refused(
    client: http.InferenceServerClient, models: Path
) -> None:
    pm.add(models, "empty", "VALUE = 1\n")
    with pytest.raises(InferenceServerException, match="TritonPythonModel"):
        client.load_model("empty")


def test_a_syntax_error_is_told_with_its_place(
    client: http.InferenceServerClient, models: Path
) -> None:
    pm.add(models, "broken", "def execute(:\n")
    with pytest.raises(InferenceServerException, match="SyntaxError"):
        client.load_model("broken")

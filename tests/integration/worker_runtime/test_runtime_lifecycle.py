"""Start, bad models, load and unload, overload, drain."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from tritonclient.utils import InferenceServerException

from tests.integration.worker_runtime.conftest import IDENTITY
from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until


def add_sub_body(rows: int = 1) -> dict[str, Any]:
    return {
        "inputs": [
            {"name": name, "datatype": "INT32", "shape": [rows, 16], "data": [1] * 16 * rows}
            for name in ("INPUT0", "INPUT1")
        ]
    }


def test_one_bad_model_never_takes_down_the_others(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "good", om.add_sub())
    om.save(root, "garbage", b"this is no model at all")
    om.save(root, "refused", om.refused())
    om.save(root, "typo", om.add_sub(), 'name: "typo"\nmax_batch: 3\n')
    threads = 'parameters { key: "intra_op_thread_count" value { string_value: "lots" } }'
    om.save(root, "threads", om.add_sub(), threads)
    om.save(root, "latin", om.add_sub(), "")
    (root / "latin" / "config.pbtxt").write_bytes(b'name: "\xff"')
    (root / "empty" / "1").mkdir(parents=True)
    with runtime(root, "--exit-on-error=false", ready=False) as server:
        wait_until(lambda: server.json("v2/models/good/infer", add_sub_body())[0] == 200, "good")
        wait_until(
            lambda: "LOADING" not in str(server.json("v2/repository/index", {})[1]), "loading ends"
        )
        shown = server.json("v2/repository/index", {})[1]
        assert {"name": "typo"} in shown, "what cannot be read has no state, as in Triton"
        shown = server.json("v2/repository/index", {"failures": True})[1]
        rows = {row["name"]: row for row in shown}
        assert rows["good"]["state"] == "READY"
        for name, reason in (
            ("garbage", "Internal: onnx runtime error 7: Load model from "),
            ("garbage", "Protobuf parsing failed"),
            ("refused", "NoSuchOperator"),
            ("typo", 'config.pbtxt:2:1: unknown field "max_batch"'),
            ("empty", "Could not determine backend for model 'empty'"),
            ("threads", "failed to convert 'lots' to integral number"),
            ("latin", "can't decode byte 0xff"),
        ):
            assert rows[name]["state"] == "UNAVAILABLE"
            assert reason.lower() in rows[name]["reason"].lower()
            status, answer = server.json(f"v2/models/{name}/infer", add_sub_body())
            assert status == 404
            assert re.search("is not found|has no available versions", answer["error"])
        assert server.call("v2/health/live")[0] == 200
        assert server.call("v2/health/ready")[0] == 400
        log = server.log.read_text()
        assert "| good " in log
        assert "UNAVAILABLE" in log
        ready = server.json("v2/repository/index", {"ready": True})[1]
        assert [row["name"] for row in ready] == ["good"]


def test_exit_on_error_is_the_default(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "garbage", b"this is no model at all")
    with runtime(root, ready=False) as server:
        assert server.process.wait(30) == 1
        assert "error: creating server: Internal - failed to load all models" in (
            server.log.read_text()
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--no-such"], "unrecognized option"), ([], "--model-repository must be specified")],
)
def test_a_wrong_command_line_exits_with_1(arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "worker_runtime", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert message in done.stderr


def test_a_port_in_use_is_a_clear_error(server: Runtime, repository: Path) -> None:
    for flag, port in (("--http-port", server.http_port), ("--grpc-port", server.grpc_port)):
        free = {"--http-port": "0", "--grpc-port": "0", "--metrics-port": "0", flag: str(port)}
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "worker_runtime",
                f"--model-repository={repository}",
                "--http-address=127.0.0.1",
                "--grpc-address=127.0.0.1",
                *(f"{name}={value}" for name, value in free.items()),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_explicit_mode_loads_reloads_and_unloads(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "models"
    om.save(root, "m", om.add_sub(), "max_batch_size: 2\n")
    module = http_client if kind == "http" else grpc_client
    with runtime(root, "--model-control-mode=explicit") as server:
        with module.InferenceServerClient(getattr(server, kind)) as client:
            assert server.json("v2/repository/index", {})[1] == [{"name": "m"}]
            assert server.json("v2/models/m/infer", add_sub_body())[0] == 404
            client.load_model("m")
            assert client.is_model_ready("m")
            assert server.json("v2/models/m/infer", add_sub_body(2))[0] == 200
            client.load_model("m", config=json.dumps({"max_batch_size": 1}))
            status, answer = server.json("v2/models/m/infer", add_sub_body(2))
            assert (status, "batch-size must be <= 1" in answer["error"]) == (400, True)
            client.load_model("m")
            assert server.json("v2/models/m/infer", add_sub_body(2))[0] == 200
            (root / "m" / "1" / "model.onnx").write_bytes(b"broken")
            with pytest.raises(InferenceServerException, match="load failed for model 'm'"):
                client.load_model("m")
            assert server.json("v2/models/m/infer", add_sub_body(2))[0] == 200, "the old one serves"
            client.unload_model("m")
            wait_until(lambda: not client.is_model_ready("m"), "unload")
            assert not client.is_model_ready("never-heard-of")
            wait_until(
                lambda: server.json("v2/repository/index", {})[1][0]["state"] == "UNAVAILABLE", ""
            )
            assert server.json("v2/repository/index", {})[1][0]["reason"] == "unloaded"
            assert server.call("v2/health/ready")[0] == 200
            client.unload_model("m")
            client.unload_model("never-heard-of")
            with pytest.raises(InferenceServerException, match="failed to poll"):
                client.load_model("never-heard-of")


def test_metrics_follow_the_work(server: Runtime) -> None:
    labels = '{model="simple",version="1"}'

    def value(name: str, with_labels: str = labels) -> float:
        line = next(
            (item for item in server.metrics().splitlines() if item.startswith(name + with_labels)),
            "0",
        )
        return float(line.rsplit(" ", 1)[-1])

    sizes = '{batch_size="3",model="simple",version="1"}'
    names = ("nv_inference_request_success", "nv_inference_count", "nv_inference_exec_count")
    before = [value(name) for name in names]
    batches = value("shoal_inference_batch_size_total", sizes)
    assert server.json("v2/models/simple/infer", add_sub_body(3))[0] == 200
    assert [value(name) - old for name, old in zip(names, before, strict=True)] == [1, 3, 1]
    assert value("shoal_inference_batch_size_total", sizes) == batches + 1
    text = server.metrics()
    assert "# TYPE nv_inference_request_success counter" in text
    assert f"nv_inference_pending_request_count{labels} 0" in text
    for reason in ("REJECTED", "CANCELED", "BACKEND", "OTHER"):
        assert f'model="simple",reason="{reason}"' in text
    assert "nv_cpu_memory_total_bytes" in text
    assert value("nv_model_load_duration_secs") > 0
    status, headers, _ = server.call("metrics", port=server.metrics_port)
    assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")


def identity_body() -> dict[str, Any]:
    return {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 1], "data": [1]}]}


def test_a_full_queue_is_503_for_who_comes_too_late(server: Runtime) -> None:
    answers: list[tuple[int, Any]] = []

    def call() -> None:
        answers.append(server.json("v2/models/bounded/infer", identity_body()))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    statuses = sorted(status for status, _ in answers)
    assert statuses[0] == 200
    assert statuses[-1] == 503
    errors = {answer["error"] for status, answer in answers if status == 503}
    assert errors == {"[request id: <id_unknown>] Exceeds maximum queue size"}


def test_score_needs_a_single_model(server: Runtime, tmp_path: Path) -> None:
    status, answer = server.json("score", add_sub_body())
    assert status == 424  # what Azure ML says when a model, or the lack of one, is the reason
    assert "simple" in answer["error"]
    om.save(tmp_path / "models", "only", om.add_sub())
    with runtime(tmp_path / "models") as lone:
        status, answer = lone.json("score", add_sub_body())
        assert (status, answer["model_name"]) == (200, "only")


def test_sigterm_finishes_what_runs_and_refuses_the_rest(tmp_path: Path) -> None:
    root = tmp_path / "models"
    delay = 'parameters { key: "delay_ms" value { string_value: "700" } }\nmax_batch_size: 1'
    (root / "slow" / "1").mkdir(parents=True)
    (root / "slow" / "config.pbtxt").write_text(IDENTITY + delay)
    answers: list[tuple[int, Any]] = []
    with runtime(root) as server:
        calls = [
            threading.Thread(
                target=lambda: answers.append(server.json("v2/models/slow/infer", identity_body()))
            )
            for _ in range(3)
        ]
        for call in calls:
            call.start()
        # One executes, one stands behind it, the third waits: then all three have arrived.
        pending = 'nv_inference_pending_request_count{model="slow",version="1"} 1'
        wait_until(lambda: pending in server.metrics(), "three accepted requests")
        os.kill(server.process.pid, signal.SIGTERM)
        wait_until(lambda: server.call("v2/health/ready")[0] == 503, "not ready any more")
        assert server.json("v2/models/slow/infer", identity_body())[0] in (404, 503)
        for call in calls:
            call.join(20)
        assert server.process.wait(20) == 0
    assert [status for status, _ in answers] == [200, 200, 200]


def test_backend_errors_reach_the_client_and_count_as_such(server: Runtime) -> None:
    body = {
        "inputs": [
            {"name": "x", "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]},
            {"name": "s", "datatype": "INT64", "shape": [1], "data": [3]},
        ]
    }
    status, answer = server.json("v2/models/raises/infer", body)
    assert status == 500
    assert "Reshape" in answer["error"]
    body["inputs"][1]["data"] = [4]
    status, answer = server.json("v2/models/raises/infer", body)
    assert (status, answer["outputs"][0]["data"]) == (200, [1, 2, 3, 4])
    assert 'model="raises",reason="BACKEND",version="1"} 1' in server.metrics()


def test_large_answers_do_not_disturb_small_ones(server: Runtime) -> None:
    big = np.zeros((4, 1_000_000), np.float32)
    with http_client.InferenceServerClient(server.http, concurrency=2) as client:
        item = http_client.InferInput("x", [4, 1_000_000], "FP32")
        item.set_data_from_numpy(big)
        pending = client.async_infer("big", [item])
        assert server.json("v2/models/simple/infer", add_sub_body())[0] == 200
        np.testing.assert_array_equal(pending.get_result().as_numpy("y"), big)

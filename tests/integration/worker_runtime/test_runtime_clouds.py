"""A runtime as SageMaker and Vertex AI start it and talk to it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until

SAGEMAKER, VERTEX = "sagemaker", "vertex-ai"
ROUTES = {"AIP_PREDICT_ROUTE": "/v1/e/1:predict", "AIP_HEALTH_ROUTE": "/v1/e/1"}
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
JSON = json.dumps(
    {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3], "data": ROWS.ravel().tolist()}]}
).encode()
EXPLICIT = ("--allow-sagemaker=true", "--sagemaker-port=0", "--model-control-mode=explicit")


def content_type(platform: str, size: int) -> str:
    return f"application/vnd.{platform}-triton.binary+json;json-header-size={size}"


def binary_request(platform: str) -> tuple[bytes, dict[str, str]]:
    """A body with a binary tensor in and one out, and its headers."""
    size = {"binary_data_size": ROWS.nbytes}
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 3], "parameters": size}
    document = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
    text = json.dumps(document).encode()
    return text + ROWS.tobytes(), {"Content-Type": content_type(platform, len(text))}


def check_inference(server: Runtime, port: int, path: str, platform: str, **more: str) -> None:
    """JSON and binary tensors come back from an identity model, in the form of the platform."""
    status, headers, body = server.call(path, JSON, port=port, headers=more)
    assert (status, headers["content-type"]) == (200, "application/json"), body
    assert json.loads(body)["outputs"][0]["data"] == ROWS.ravel().tolist()
    request, wanted = binary_request(platform)
    accept = {**wanted, "Accept-Encoding": "gzip", **more}
    status, headers, body = server.call(path, request, port=port, headers=accept)
    assert status == 200, body
    length = len(body) - ROWS.nbytes
    assert headers["content-type"] == content_type(platform, length)
    assert "inference-header-content-length" not in headers
    assert "content-encoding" not in headers
    assert json.loads(body[:length])["outputs"][0]["shape"] == [2, 3]
    assert body[length:] == ROWS.tobytes()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("clouds") / "models"
    for name in ("m", "other model"):
        om.save(root, name, om.identity(om.FP32, "N", 3))
    flags = (
        *("--allow-sagemaker=true", "--sagemaker-port=0", "--allow-vertex-ai=true"),
        *("--vertex-ai-port=0", "--vertex-ai-default-model=m"),
    )
    variables = {**ROUTES, "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "other model"}
    with runtime(root, *flags, variables=variables) as found:
        yield found


def test_vertex_predicts_and_asks_for_health(server: Runtime) -> None:
    port = server.vertex_ai_port
    assert server.call("v1/e/1", port=port)[0] == 200
    check_inference(server, port, "v1/e/1:predict", VERTEX)
    assert server.call("v1/e/1:predict", port=port)[0] == 405
    assert server.call("v1/e/2:predict", JSON, port=port)[0] == 400
    assert server.call("v2/health/ready", port=port)[0] == 400, "only its own routes"
    wrong = {"Content-Type": "x;" + content_type(VERTEX, 1)}
    status, _, body = server.call("v1/e/1:predict", JSON, port=port, headers=wrong)
    assert status == 400
    assert b"expect MIME type for binary data starts with" in body
    beyond = {"Content-Type": content_type(VERTEX, 10_000)}
    status, _, body = server.call("v1/e/1:predict", JSON, port=port, headers=beyond)
    assert status == 400
    assert b"inference header size should be in range" in body


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("v2", 200, '"name":"triton"'),
        ("v2/models/m", 200, '"versions":["1"]'),
        ("v2/models/m/versions/1/ready", 200, ""),
        ("v2/models/m/config", 200, '"onnxruntime"'),
        ("v2/models/m/stats", 200, '"model_stats"'),
        ("v2/models/nobody", 404, "is not found"),
        ("v2/repository/index", 200, '"READY"'),
        ("v2/repository/models/m/load", 503, "explicit model load"),
        ("metrics", 200, "nv_inference_request_success"),
        ("v2/trace/setting", 400, ""),
        ("v2/nothing", 400, ""),
    ],
)
def test_vertex_reaches_the_whole_api(server: Runtime, path: str, status: int, text: str) -> None:
    header, port = {"X-Vertex-Ai-Triton-Redirect": path}, server.vertex_ai_port
    found, _, body = server.call("v1/e/1:predict", b"", port=port, headers=header)
    assert (found, text in body.decode()) == (status, True)
    assert server.call("v1/e/1:predict", port=port, headers=header)[0] == 405, "only by POST"


def test_vertex_reaches_other_models(server: Runtime) -> None:
    path = "v2/models/other%20model/infer"
    more = {"X-Vertex-Ai-Triton-Redirect": path}
    check_inference(server, server.vertex_ai_port, "v1/e/1:predict", VERTEX, **more)


@pytest.mark.parametrize(
    ("flags", "variables", "reason"),
    [
        ((), {"AIP_HEALTH_ROUTE": "/h"}, "AIP_PREDICT_ROUTE is not defined for Vertex AI endpoint"),
        ((), {"AIP_PREDICT_ROUTE": "/p"}, "AIP_HEALTH_ROUTE is not defined for Vertex AI endpoint"),
        ((), ROUTES, "Expect the model repository contains only a single model if default model"),
        (("--vertex-ai-default-model=x",), ROUTES, "Expect the default model 'x' is loaded"),
    ],
)
def test_vertex_is_not_started_wrongly(
    server: Runtime, tmp_path: Path, flags: tuple[str, ...], variables: dict[str, str], reason: str
) -> None:
    (tmp_path / "models").mkdir()
    command = [sys.executable, "-m", "worker_runtime", f"--model-repository={tmp_path}/models"]
    command += ["--allow-vertex-ai=true", "--allow-http=false", "--allow-grpc=false"]
    command += ["--metrics-port=0", "--vertex-ai-port=0", "--http-address=127.0.0.1", *flags]
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert f"failed to start Vertex AI service: Invalid argument - {reason}" in done.stderr


def test_vertex_starts_a_server_by_its_variables(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "m", om.identity(om.FP32, "N", 3))
    variables = {**ROUTES, "AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": "0"}
    with runtime(root, ready=False, variables=variables) as found:
        port = found.vertex_ai_port
        wait_until(lambda: found.call("v1/e/1", port=port)[0] == 200, "it is ready")
        assert (found.http_port, found.grpc_port) == (0, 0), "nothing else is served"
        check_inference(found, port, "v1/e/1:predict", VERTEX)


def test_sagemaker_invokes_one_model(server: Runtime) -> None:
    port = server.sagemaker_port
    assert server.call("ping", port=port)[0] == 200
    check_inference(server, port, "invocations", SAGEMAKER)
    assert server.call("invocations", port=port)[0] == 405
    assert server.call("v2/health/ready", port=port)[0] == 400, "only its own routes"
    assert server.json("models", {"model_name": "a", "url": "/tmp"}, port=port) == (
        400,
        {"error": "repository registration is not allowed if model control mode is not EXPLICIT"},
    )


def test_sagemaker_chooses_how_a_model_answers(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "m", om.identity(om.FP32, "N", 3))
    variables = {
        "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "m",
        "SAGEMAKER_TRITON_INFERENCE_TYPE": "generate",
        "SAGEMAKER_TRITON_PING_MODE": "live",
        "SAGEMAKER_BIND_TO_PORT": "0",
    }
    with runtime(root, "--allow-sagemaker=true", variables=variables) as found:
        port = found.sagemaker_port
        assert found.call("ping", port=port)[0] == 200
        status, answer = found.json("invocations", {"x": [1.0, 2.0, 3.0]}, port=port)
        assert (status, answer["y"]) == (200, [1.0, 2.0, 3.0])


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Runtime]:
    (tmp_path / "models").mkdir()
    variables = {"SAGEMAKER_MULTI_MODEL": "true"}
    with runtime(tmp_path / "models", *EXPLICIT, variables=variables) as found:
        yield found


def load(server: Runtime, name: str, url: Path | str, target: str = "") -> tuple[int, Any]:
    headers = {"X-Amzn-SageMaker-Target-Model": target} if target else {}
    body = {"model_name": name, "url": str(url)}
    return server.json("models", body, port=server.sagemaker_port, headers=headers)


def test_sagemaker_loads_and_unloads_many_models(many: Runtime, tmp_path: Path) -> None:
    """The archive of one is a model, that of the other a folder with a model in it."""
    port = many.sagemaker_port
    first, second = tmp_path / "h1" / "model", tmp_path / "h2" / "model"
    om.save(first.parent, "model", om.identity(om.FP32, "N", 3), 'name: "mine"')
    om.save(second, "inner", om.identity(om.FP32, "N", 3))
    assert many.json("models", port=port) == (200, {"models": []})
    assert load(many, "h1", first, "one.tar.gz") == (200, None)
    assert load(many, "h2", second) == (200, None)
    assert load(many, "h1", first, "one.tar.gz")[0] == 409
    rows = [
        {"modelName": "h1", "modelUrl": str(first.parent)},
        {"modelName": "h2", "modelUrl": str(second)},
    ]
    assert many.json("models", port=port) == (200, {"models": rows})
    assert many.json("models/h2", port=port) == (200, rows[1])
    target = {"X-Amzn-SageMaker-Target-Model": "one.tar.gz"}
    check_inference(many, port, "models/h1/invoke", SAGEMAKER, **target)
    check_inference(many, port, "models/h2/invoke", SAGEMAKER)
    assert many.call("models/h3/invoke", JSON, port=port)[0] == 404
    assert many.call("models/h2/invoke", b"{}", port=port)[0] == 400
    assert many.call("models/h1", method="DELETE", port=port)[0] == 200
    assert many.call("models/h1", method="DELETE", port=port)[0] == 404
    assert many.call("models/h1", port=port)[0] == 404
    assert many.call("models/h1/invoke", JSON, port=port, headers=target)[0] == 404
    assert many.json("models", port=port) == (200, {"models": rows[1:]})
    assert load(many, "h1", first, "one.tar.gz") == (200, None), "it may come back"
    assert many.call("models/h1", method="PUT", port=port)[0] == 400


def test_sagemaker_loads_an_ensemble_with_its_models(many: Runtime, tmp_path: Path) -> None:
    root = tmp_path / "h" / "model"
    om.save(root, "part", om.identity(om.FP32, "N", 3), "max_batch_size: 4")
    (root / "all" / "1").mkdir(parents=True)
    (root / "all" / "config.pbtxt").write_text(
        'platform: "ensemble" max_batch_size: 4\n'
        "input { name: 'x' data_type: TYPE_FP32 dims: 3 }\n"
        "output { name: 'y' data_type: TYPE_FP32 dims: 3 }\n"
        "ensemble_scheduling { step { model_name: 'part' model_version: -1\n"
        "input_map { key: 'x' value: 'x' } output_map { key: 'y' value: 'y' } } }\n"
    )
    assert load(many, "h", root) == (200, None)
    check_inference(many, many.sagemaker_port, "models/h/invoke", SAGEMAKER)
    assert many.call("models/h", method="DELETE", port=many.sagemaker_port)[0] == 200
    assert load(many, "h", root) == (200, None), "nothing of it was left"


def test_sagemaker_is_told_why_a_model_does_not_load(many: Runtime, tmp_path: Path) -> None:
    om.save(tmp_path / "bad", "model", om.identity(om.FP32, "N", 3), "max_batch_size: -1")
    (tmp_path / "empty").mkdir()
    for url, reason in (
        (tmp_path / "bad" / "model", "failed to poll from model repository"),
        (tmp_path / "empty", "there is no model"),
        (tmp_path / "nowhere", "cannot be read"),
        ("/opt/../proc/self", "cannot be below /dev, /proc or /sys"),
        ("", "load request expects 'model_name' and 'url'"),
    ):
        status, answer = load(many, "h", url)
        assert (status, reason in answer["error"]) == (400, True), answer
    model = tmp_path / "bad" / "model"
    (model / "config.pbtxt").write_text("max_batch_size: 4")
    whole = (model / "1" / "model.onnx").read_bytes()
    (model / "1" / "model.onnx").write_bytes(b"broken")
    assert load(many, "h", model)[0] == 400
    assert many.call("ping", port=many.sagemaker_port)[0] == 200, "others can be loaded"
    assert many.json("v2/repository/index", {})[1] == [], "and nothing is left of it"
    (model / "1" / "model.onnx").write_bytes(whole)
    assert load(many, "h", model) == (200, None), "a load that failed leaves nothing"

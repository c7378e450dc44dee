"""``--max-queue-wait-ms`` on a real runtime with slow models: who waits longer is rejected."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from tests.support.builtin_models import IDENTITY, parameter, place
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration

CAP_MS = 100
SLOW = IDENTITY + parameter("execute_delay_ms", "600") + "max_batch_size: 1 "
BATCHED = "dynamic_batching { default_queue_policy { %s } }"
MODELS = {
    "plain": "",
    "batched": "dynamic_batching { }",
    # each asks for more than the cap allows
    "lengthy": BATCHED % "default_timeout_microseconds: 60000000 allow_timeout_override: true",
    "delayed": BATCHED % "default_timeout_microseconds: 1000 timeout_action: DELAY",
    "bounded": parameter("shoal_queue_timeout_microseconds", "60000000"),
}
BODY = {
    "inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}],
    "parameters": {"timeout": 30_000_000},
}
EXPIRED = {"error": "Request timeout expired"}
Infer = Callable[[], Any]


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("waits") / "models"
    for name, more in MODELS.items():
        place(root, name, SLOW + more)
    place(root, "others", SLOW)  # its rejections are not counted
    with runtime(root, f"--max-queue-wait-ms={CAP_MS}") as found:
        yield found


def at_once(call: Callable[[], Any], count: int) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return [one.result() for one in [pool.submit(call) for _ in range(count)]]


@pytest.mark.parametrize("model", MODELS)
def test_whatever_the_model_says_nobody_waits_beyond_the_cap(capped: Runtime, model: str) -> None:
    """One runs for six times the cap; the other three would have to wait for it."""
    answers = at_once(lambda: capped.json(f"v2/models/{model}/infer", BODY), 4)
    assert Counter(status for status, _ in answers) == {200: 1, 503: 3}
    assert [body for status, body in answers if status == 503] == [EXPIRED] * 3
    rejected = f'nv_inference_request_failure{{model="{model}",reason="REJECTED",version="1"}} 3'
    wait_until(lambda: rejected in capped.metrics(), "the rejected ones in the metrics", 10)
    assert capped.json(f"v2/models/{model}/infer", BODY)[0] == 200  # the queue is free again


def over_http(server: Runtime) -> Infer:
    def infer() -> Any:
        tensor = httpclient.InferInput("INPUT0", [1, 1], "FP32")
        tensor.set_data_from_numpy(np.ones((1, 1), np.float32))
        with httpclient.InferenceServerClient(server.http) as client:
            return client.infer("others", [tensor]).as_numpy("OUTPUT0")

    return infer


def over_grpc(server: Runtime) -> Infer:
    def infer() -> Any:
        tensor = grpcclient.InferInput("INPUT0", [1, 1], "FP32")
        tensor.set_data_from_numpy(np.ones((1, 1), np.float32))
        with grpcclient.InferenceServerClient(server.grpc) as client:
            return client.infer("others", [tensor]).as_numpy("OUTPUT0")

    return infer


@pytest.mark.parametrize(
    ("via", "status"), [(over_http, "503"), (over_grpc, "StatusCode.UNAVAILABLE")]
)
def test_stock_clients_read_a_queue_that_timed_out(
    capped: Runtime, via: Callable[[Runtime], Infer], status: str
) -> None:
    infer = via(capped)

    def outcome() -> Any:
        try:
            return infer()
        except InferenceServerException as error:
            return error

    answers = at_once(outcome, 3)
    refused = [answer for answer in answers if isinstance(answer, InferenceServerException)]
    assert [(error.status(), error.message()) for error in refused] == [
        (status, "Request timeout expired")
    ] * 2


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("alone") / "models"
    place(root, "only", SLOW)
    with runtime(root, f"--max-queue-wait-ms={CAP_MS}", "--grpc-frontend=grpcio") as found:
        yield found


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("score", BODY, 429),
        ("v2/models/only/infer", BODY, 503),
        ("v2/models/only/generate", {"INPUT0": [[1.0]]}, 503),
        ("v2/models/only/generate_stream", {"INPUT0": [[1.0]]}, 503),
    ],
)
def test_an_answer_tells_a_busy_server_from_a_broken_one(
    alone: Runtime, path: str, body: Any, status: int
) -> None:
    raw = json.dumps(body).encode()
    found = {answer[0]: answer for answer in at_once(lambda: alone.call(path, raw), 2)}
    assert sorted(found) == [200, status]
    _, headers, text = found[status]
    assert b"Request timeout expired" in text
    assert headers["retry-after"] == "1"
    assert "ms-azureml-model-error-statuscode" not in headers
    wrong = alone.call("score", b'{"inputs": []}')
    assert wrong[0] == 424
    assert "retry-after" not in wrong[1]


@pytest.mark.parametrize(("server", "model"), [("capped", "others"), ("alone", "only")])
def test_both_grpc_front_ends_say_so(
    request: pytest.FixtureRequest, server: str, model: str
) -> None:
    raw = np.ones((1, 1), np.float32).tobytes()
    asked = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[raw])
    asked.inputs.add(name="INPUT0", datatype="FP32", shape=[1, 1])

    with grpc.insecure_channel(request.getfixturevalue(server).grpc) as channel:
        infer = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer
        calls = [infer.future(asked, timeout=30) for _ in range(2)]
        errors = [error for error in (call.exception() for call in calls) if error is not None]
    (error,) = errors
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert error.details() == "Request timeout expired"

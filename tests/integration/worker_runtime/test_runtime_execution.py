"""Execution on a real runtime with stock clients: built-in backends, batching, limits, warm-up."""

import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from onnx import helper
from tritonclient.utils import InferenceServerException

from tests.support import onnx_models as om
from tests.support.builtin_models import IDENTITY, REPEAT, SQUARE, parameter, place
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration

RAGGED = """
max_batch_size: 8
dynamic_batching { max_queue_delay_microseconds: 200000 preferred_batch_size: [ 3 ] }
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] },
         { name: "counts" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } } ]
batch_input { kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_FP32 source_input: "x" }
batch_output { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "y" source_input: "x" }
instance_group { count: 1 kind: KIND_CPU }
"""


def ragged_graph() -> Any:
    nodes = [helper.make_node("Identity", [a], [b]) for a, b in (("x", "y"), ("n", "counts"))]
    names = ("x", "n", "y", "counts")
    x, n, y, counts = (om.tensor(name, om.FP32, None) for name in names)
    return om.graph(nodes, [x, n], [y, counts])


@pytest.fixture(scope="module")
def executing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("execution") / "models"
    place(root, "identity", IDENTITY)
    place(root, "repeat", REPEAT)
    square = parameter("CUSTOM_INFER_DELAY_NS", "20000000")
    square += parameter("CUSTOM_OUTPUT_DELAY_NS", "10000000")
    square += parameter("CUSTOM_FAIL_COUNT", "2") + parameter("CUSTOM_EMPTY_COUNT", "1")
    place(root, "square", SQUARE + square)
    slow = IDENTITY + parameter("execute_delay_ms", "400") + "max_batch_size: 1 "
    policy = "dynamic_batching { default_queue_policy { %s } }"
    place(root, "hurried", slow + policy % "default_timeout_microseconds: 50000")
    place(root, "limited", slow + parameter("shoal_max_queue_size", "1"))
    ordered = IDENTITY.replace("count: 1", "count: 2") + "max_batch_size: 1 "
    ordered += parameter("execute_delay_ms", "60") + parameter(
        "instance_wise_delay_multiplier", "3"
    )
    place(root, "ordered", ordered + "dynamic_batching { preserve_ordering: true }")
    om.save(root, "ragged", ragged_graph(), RAGGED)
    with runtime(root) as found:
        yield found


class Stream:
    """One gRPC stream; ``ask`` sends, ``take`` gets the next answer or error."""

    def __init__(self, url: str) -> None:
        self.client = grpcclient.InferenceServerClient(url)
        self.answers: queue.Queue[Any] = queue.Queue()
        self.client.start_stream(
            callback=lambda result, error: self.answers.put(error if error else result)
        )

    def ask(self, model: str, request_id: str = "", **inputs: np.ndarray[Any, Any]) -> None:
        tensors = []
        for name, array in inputs.items():
            kind = {"i": "INT32", "u": "UINT32", "f": "FP32"}[array.dtype.kind]
            tensors.append(grpcclient.InferInput(name, list(array.shape), kind))
            tensors[-1].set_data_from_numpy(array)
        self.client.async_stream_infer(
            model, tensors, request_id=request_id, enable_empty_final_response=True
        )

    def take(self) -> Any:
        return self.answers.get(timeout=30)

    def close(self) -> None:
        self.client.stop_stream()
        self.client.close()


@pytest.fixture
def stream(executing: Runtime) -> Iterator[Stream]:
    opened = Stream(executing.grpc)
    yield opened
    opened.close()


def final(result: Any) -> bool:
    return bool(result.get_response().parameters["triton_final_response"].bool_param)


def http_tensor(array: np.ndarray[Any, Any], name: str = "INPUT0") -> httpclient.InferInput:
    tensor = httpclient.InferInput(name, list(array.shape), "FP32")
    tensor.set_data_from_numpy(array)
    return tensor


def test_identity_shows_response_parameters(executing: Runtime) -> None:
    expected = {
        "param0": "an example string parameter",
        "param1": 42,
        "param2": False,
        "param3": 123.123,
    }
    data = np.array([1.5, 2.5], np.float32)
    with httpclient.InferenceServerClient(executing.http) as client:
        result = client.infer("identity", [http_tensor(data)])
        assert result.get_response()["parameters"] == expected
        assert result.as_numpy("OUTPUT0").tolist() == [1.5, 2.5]
    with grpcclient.InferenceServerClient(executing.grpc) as client:
        tensor = grpcclient.InferInput("INPUT0", [2], "FP32")
        tensor.set_data_from_numpy(data)
        given = client.infer("identity", [tensor]).get_response().parameters
        values = {
            key: getattr(value, value.WhichOneof("parameter_choice"))
            for key, value in given.items()
        }
        assert values == expected


def test_repeat_streams_an_answer_per_element_for_many_requests_at_once(stream: Stream) -> None:
    for number in range(5):
        values = np.arange(number * 10, number * 10 + number, dtype=np.int32)
        delays = np.full(number, 5, np.uint32)
        wait = np.zeros(1, np.uint32)
        stream.ask("repeat", str(number), IN=values, DELAY=delays, WAIT=wait)
    got: dict[str, list[int]] = {}
    ended = 0
    while ended < 5:
        result = stream.take()
        response = result.get_response()
        if final(result):
            ended += 1
            assert not response.outputs
            continue
        got.setdefault(response.id, []).append(int(result.as_numpy("OUT")[0]))
    assert got == {str(n): list(range(n * 10, n * 10 + n)) for n in range(1, 5)}


def test_square_counts_its_answers_by_index(executing: Runtime, stream: Stream) -> None:
    for count in (4, 6):
        stream.ask("square", IN=np.array([count], np.int32))
        texts = [stream.take() for _ in range(count)]
        errors = [item.message() for item in texts if isinstance(item, InferenceServerException)]
        assert errors == ["simulated failure"] * 2
        assert final(texts[-1])
    with httpclient.InferenceServerClient(executing.http) as client:
        rows = client.get_inference_statistics("square")["model_stats"][0]["response_stats"]
    kinds = ("success", "fail", "empty_response", "cancel")
    counts = {index: tuple(row[kind]["count"] for kind in kinds) for index, row in rows.items()}
    assert counts == {
        "0": (2, 0, 0, 0),
        "1": (1, 1, 0, 0),
        "2": (1, 1, 0, 0),
        "3": (0, 1, 1, 0),
        "4": (0, 1, 0, 0),
        "5": (0, 0, 1, 0),
    }
    for row in rows.values():
        assert row["compute_infer"]["ns"] >= 20_000_000 * row["compute_infer"]["count"]
        assert row["compute_output"]["ns"] >= 10_000_000 * row["compute_output"]["count"]
    with grpcclient.InferenceServerClient(executing.grpc) as client:
        stats = client.get_inference_statistics("square", as_json=True)["model_stats"][0]
    assert stats["response_stats"].keys() == rows.keys()


def test_a_decoupled_model_is_not_for_plain_infer(executing: Runtime) -> None:
    body = {"inputs": [{"name": "IN", "shape": [1], "datatype": "INT32", "data": [1]}]}
    status, answer = executing.json("v2/models/square/infer", body)
    assert status == 501
    assert "doesn't support models with decoupled transaction policy" in answer["error"]


def infer_many(server: Runtime, model: str, count: int) -> list[tuple[int, Any]]:
    body = {"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]}
    with ThreadPoolExecutor(count) as pool:
        calls = [pool.submit(server.json, f"v2/models/{model}/infer", body) for _ in range(count)]
        return [call.result() for call in calls]


def test_who_waits_too_long_is_told_so(executing: Runtime) -> None:
    answers = infer_many(executing, "hurried", 3)
    refused = [answer for status, answer in answers if status == 503]
    assert refused == [{"error": "Request timeout expired"}] * 2
    reason = 'nv_inference_request_failure{model="hurried",reason="REJECTED",version="1"} 2'
    wait_until(lambda: reason in executing.metrics(), "the failures in the metrics", 10)


def test_a_queue_without_batching_can_be_bounded(executing: Runtime) -> None:
    answers = infer_many(executing, "limited", 6)
    refused = [answer["error"] for status, answer in answers if status == 503]
    assert refused
    assert set(refused) == {"[request id: <id_unknown>] Exceeds maximum queue size"}
    assert len(refused) < 6


def test_order_holds_although_one_instance_is_slower(executing: Runtime, stream: Stream) -> None:
    for number in range(6):
        stream.ask("ordered", str(number), INPUT0=np.full((1, 1), number, np.float32))
    ids = [stream.take().get_response().id for _ in range(6)]
    assert ids == [str(number) for number in range(6)]


def test_requests_of_different_lengths_share_a_ragged_batch(executing: Runtime) -> None:
    def ask(length: int) -> Any:
        with httpclient.InferenceServerClient(executing.http) as client:
            data = np.full((1, length), length, np.float32)
            return client.infer("ragged", [http_tensor(data, "x")])

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(ask, (1, 2, 3)))
    for length, result in zip((1, 2, 3), results, strict=True):
        assert result.as_numpy("y").tolist() == [[length] * length]
        assert result.as_numpy("counts").tolist() == [[length]]
    stats = executing.json("v2/models/ragged/stats")[1]["model_stats"][0]
    assert stats["inference_count"] == 3
    assert stats["execution_count"] == 1


def test_nothing_starts_before_as_many_wait_as_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITONSERVER_DELAY_SCHEDULER", "6")
    batched = IDENTITY + "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4 ]"
    place(tmp_path / "models", "held", batched + " max_queue_delay_microseconds: 300000 }")
    with runtime(tmp_path / "models") as server:
        answers = infer_many(server, "held", 6)
        assert [status for status, _ in answers] == [200] * 6
        stats = server.json("v2/models/held/stats")[1]["model_stats"][0]
        sizes = {row["batch_size"]: row["compute_infer"]["count"] for row in stats["batch_stats"]}
        assert sizes == {5: 1, 1: 1}, "what a real Triton does, too: the payload of 4 grows once"


def limited(name: str, count: int) -> str:
    group = f'rate_limiter {{ resources {{ name: "r" count: {count} }} }} kind: KIND_CPU count: 1'
    text = IDENTITY.replace("count: 1 kind: KIND_CPU", group) + "max_batch_size: 1 "
    return text + parameter("execute_delay_ms", "150")


def test_the_rate_limiter_lets_one_run_when_there_are_units_for_one(tmp_path: Path) -> None:
    root = tmp_path / "models"
    place(root, "a", limited("a", 4))
    place(root, "b", limited("b", 2))
    with runtime(root, "--rate-limit=execution_count") as server:
        threads = [threading.Thread(target=infer_many, args=(server, m, 2)) for m in "ab"]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - started >= 4 * 0.15, "never two at once"
        for model in "ab":
            stats = server.json(f"v2/models/{model}/stats")[1]["model_stats"][0]
            assert stats["inference_stats"]["success"]["count"] == 2


def test_a_model_that_could_never_run_is_not_loaded(tmp_path: Path) -> None:
    place(tmp_path / "models", "a", limited("a", 4))
    flags = ("--rate-limit=execution_count", "--rate-limit-resource=r:3", "--exit-on-error=false")
    with runtime(tmp_path / "models", *flags, ready=False) as server:
        index = wait_until(lambda: _failed(server), "the failed load")
        assert (
            'Resource count for "r" is limited to 3 which will prevent scheduling of one or more '
            "model instances, the minimum required count is 4"
        ) in index["reason"]


def test_a_warm_up_that_fails_is_a_load_that_fails(tmp_path: Path) -> None:
    warmup = """
    model_warmup { name: "sample" inputs { key: "INPUT0"
      value { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } } }
    """
    place(tmp_path / "models", "cold", IDENTITY + parameter("fail", "no such luck") + warmup)
    with runtime(tmp_path / "models", "--exit-on-error=false", ready=False) as server:
        index = wait_until(lambda: _failed(server), "the failed load")
        assert "failed to run warmup sample 'sample': no such luck; " in index["reason"]


def _failed(server: Runtime) -> Any:
    rows = server.json("v2/repository/index", {})[1]
    return next((row for row in rows or () if row.get("state") == "UNAVAILABLE"), None)


def test_a_cancelled_stream_stops_the_model(tmp_path: Path) -> None:
    place(tmp_path / "models", "repeat", REPEAT)
    with runtime(tmp_path / "models") as server:
        stream = Stream(server.grpc)
        count = 600  # a minute's worth of answers
        stream.ask(
            "repeat",
            "long",
            IN=np.arange(count, dtype=np.int32),
            DELAY=np.full(count, 100, np.uint32),
            WAIT=np.zeros(1, np.uint32),
        )
        assert int(stream.take().as_numpy("OUT")[0]) == 0
        stream.client.stop_stream(cancel_requests=True)
        stream.client.close()
        assert server.stop(10) == 0, "the drain does not wait for answers that nobody hears"


def test_a_decoupled_model_may_have_a_backend_that_answers_once(tmp_path: Path) -> None:
    config = "max_batch_size: 0 model_transaction_policy { decoupled: true }"
    om.save(tmp_path / "models", "once", om.identity(om.FP32, 2), config)
    with runtime(tmp_path / "models") as server:
        stream = Stream(server.grpc)
        stream.ask("once", x=np.array([1, 2], np.float32))
        answer = stream.take()
        assert answer.as_numpy("y").tolist() == [1, 2]
        assert final(answer)
        stream.close()

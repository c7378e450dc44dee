"""Stock tritonclient, HTTP and gRPC, sync and asyncio, against a real process."""

import asyncio
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.grpc.aio as grpc_aio
import tritonclient.http as http_client
import tritonclient.http.aio as http_aio
from tritonclient.utils import InferenceServerException

from tests.support.runtime_process import Runtime, wait_until

A = np.arange(32, dtype=np.int32).reshape(2, 16)
B = np.full((2, 16), 3, np.int32)


@pytest.fixture(params=["http", "grpc"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def module(kind: str) -> ModuleType:
    return http_client if kind == "http" else grpc_client


@pytest.fixture
def client(server: Runtime, kind: str, module: ModuleType) -> Any:
    with module.InferenceServerClient(server.http if kind == "http" else server.grpc) as found:
        yield found


def tensor(module: ModuleType, name: str, array: np.ndarray, datatype: str) -> Any:
    item = module.InferInput(name, list(array.shape), datatype)
    item.set_data_from_numpy(array)
    return item


def simple_inputs(module: ModuleType, rows: int = 2) -> list[Any]:
    return [
        tensor(module, "INPUT0", A[:rows], "INT32"),
        tensor(module, "INPUT1", B[:rows], "INT32"),
    ]


def test_health_and_metadata(client: Any, kind: str) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("simple")
    options = {} if kind == "http" else {"as_json": True}
    assert client.get_server_metadata(**options)["name"] == "triton"
    found = client.get_model_metadata("auto", **options)
    assert found["inputs"] == [
        {"name": "a/b:0", "datatype": "FP32", "shape": [-1, -1] if kind == "http" else ["-1", "-1"]}
    ]
    assert found["platform"] == "onnxruntime_onnx"
    config = client.get_model_config("auto", **options)
    config = config.get("config", config)
    assert config["max_batch_size"] == 4
    assert "dynamic_batching" in config


def test_infer(client: Any, module: ModuleType) -> None:
    result = client.infer("simple", simple_inputs(module), request_id="42")
    np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), A + B)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), A - B)
    response = result.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "42"


def test_only_the_requested_outputs_come_back(client: Any, module: ModuleType) -> None:
    wanted = [module.InferRequestedOutput("OUTPUT1")]
    result = client.infer("simple", simple_inputs(module), outputs=wanted)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), A - B)
    assert result.as_numpy("OUTPUT0") is None


def test_odd_tensor_names_and_variable_sizes(client: Any, module: ModuleType) -> None:
    for size in (1, 5):
        array = np.random.default_rng(size).random((3, size)).astype(np.float32)
        result = client.infer("auto", [tensor(module, "a/b:0", array, "FP32")])
        np.testing.assert_array_equal(result.as_numpy("scale_0.tmp_1"), array)


def test_every_kind_of_tensor(client: Any, module: ModuleType) -> None:
    texts = np.array([["a", "ü"], ["", "long" * 99]], dtype=object)
    encoded = np.array([[item.encode() for item in row] for row in texts], dtype=object)
    result = client.infer("text", [tensor(module, "x", encoded, "BYTES")])
    np.testing.assert_array_equal(result.as_numpy("y"), encoded)
    half = np.array([[1, -2.5, 65504, 0]], np.float16)
    np.testing.assert_array_equal(
        client.infer("half", [tensor(module, "x", half, "FP16")]).as_numpy("y"), half
    )
    flags = np.array([[True, False, True, True]])
    np.testing.assert_array_equal(
        client.infer("flags", [tensor(module, "x", flags, "BOOL")]).as_numpy("y"), flags
    )
    scalar = np.array([7.5], np.float32)
    np.testing.assert_array_equal(
        client.infer("scalar", [tensor(module, "x", scalar, "FP32")]).as_numpy("y"), scalar
    )


def test_classification(client: Any, module: ModuleType) -> None:
    array = np.array([[0.1, 0.7, 0.2], [3, 1, 2]], np.float32)
    wanted = [module.InferRequestedOutput("y", class_count=2)]
    result = client.infer("labelled", [tensor(module, "x", array, "FP32")], outputs=wanted)
    assert result.as_numpy("y").tolist() == [
        [b"0.700000:1:dog", b"0.200000:2:fish"],
        [b"3.000000:0:cat", b"2.000000:2:fish"],
    ]


def test_versions(client: Any, module: ModuleType) -> None:
    assert client.is_model_ready("many", "1")
    for version in ("1", "3"):
        result = client.infer("many", simple_inputs(module), model_version=version)
        response = result.get_response()
        found = response["model_version"] if isinstance(response, dict) else response.model_version
        assert found == version
    with pytest.raises(InferenceServerException, match="version 2 is not found"):
        client.infer("many", simple_inputs(module), model_version="2")


def test_large_tensors(client: Any, module: ModuleType) -> None:
    array = np.random.default_rng(1).random((3, 1_000_000), dtype=np.float32)
    result = client.infer("big", [tensor(module, "x", array, "FP32")])
    np.testing.assert_array_equal(result.as_numpy("y"), array)


def test_statistics_count_what_was_done(client: Any, module: ModuleType, kind: str) -> None:
    def read() -> dict[str, Any]:
        options = {} if kind == "http" else {"as_json": True}
        stats: dict[str, Any] = client.get_inference_statistics("fixed", **options)["model_stats"][
            0
        ]
        return stats

    array = np.ones((2, 3), np.float32)
    before = read()
    for _ in range(3):
        client.infer("fixed", [tensor(module, "x", array, "FP32")])
    after = read()
    for name in ("inference_count", "execution_count"):
        assert int(after[name]) - int(before.get(name, 0)) == 3
    success = after["inference_stats"]
    assert int(success["success"]["count"]) == int(success["queue"]["count"])
    assert int(success["success"]["ns"]) >= int(success["compute_infer"]["ns"]) > 0
    assert int(after["batch_stats"][0]["batch_size"]) == 1


def test_the_repository_cannot_be_changed_in_mode_none(client: Any) -> None:
    with pytest.raises(InferenceServerException, match="explicit model load / unload"):
        client.load_model("simple")
    with pytest.raises(InferenceServerException, match="explicit model load / unload"):
        client.unload_model("simple")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("binary", [True, False])
def test_http_compression(server: Runtime, coding: str, binary: bool) -> None:
    with http_client.InferenceServerClient(server.http) as client:
        inputs = [http_client.InferInput(f"INPUT{i}", [2, 16], "INT32") for i in range(2)]
        for item, array in zip(inputs, (A, B), strict=True):
            item.set_data_from_numpy(array, binary_data=binary)
        wanted = [http_client.InferRequestedOutput("OUTPUT0", binary_data=binary)]
        result = client.infer(
            "simple",
            inputs,
            outputs=wanted,
            request_compression_algorithm=coding,
            response_compression_algorithm=coding,
        )
        np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), A + B)


async def test_asyncio_clients_in_parallel(server: Runtime) -> None:
    async with http_aio.InferenceServerClient(server.http) as http:
        async with grpc_aio.InferenceServerClient(server.grpc) as grpc:
            calls = [http.infer("simple", simple_inputs(http_client)) for _ in range(20)]
            calls += [grpc.infer("simple", simple_inputs(grpc_client)) for _ in range(20)]
            for result in await asyncio.gather(*calls):
                np.testing.assert_array_equal(result.as_numpy("OUTPUT0"), A + B)


async def test_a_stream_answers_in_order_and_survives_errors(server: Runtime) -> None:
    async def requests() -> Any:
        for i in range(30):
            name = "nope" if i == 7 else "simple"
            yield {
                "model_name": name,
                "inputs": simple_inputs(grpc_client),
                "request_id": str(i),
            }

    seen = []
    async with grpc_aio.InferenceServerClient(server.grpc) as client:
        async for result, error in client.stream_infer(requests()):
            if error is not None:
                assert "Request for unknown model: 'nope' is not found" in str(error)
                seen.append("error")
            else:
                response = result.get_response()
                assert response.parameters["triton_final_response"].bool_param
                seen.append(response.id)
    assert seen == ["error" if i == 7 else str(i) for i in range(30)]


def test_a_grpc_deadline_drops_what_still_waits(server: Runtime) -> None:
    series = 'nv_inference_request_failure{model="slow",reason="CANCELED",version="1"} '

    def cancelled() -> float:
        lines = server.metrics().splitlines()
        return float(next(line for line in lines if line.startswith(series)).removeprefix(series))

    before = cancelled()
    array = np.ones(1, np.float32)
    with grpc_client.InferenceServerClient(server.grpc) as client:
        for _ in range(5):
            client.async_infer(
                "slow",
                [tensor(grpc_client, "INPUT0", array, "FP32")],
                callback=lambda result, error: None,
                client_timeout=0.1,
            )
        # One executes and one stands behind it; the others are still in the queue.
        wait_until(lambda: cancelled() - before >= 2, "cancelled requests")

"""Every route and its refusals, in the words that a real server gave; tensors, limits, regions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as client
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

from tests.support import onnx_models as om
from tests.support.http_surface import LIMIT, POST, error_of
from tests.support.runtime_process import Runtime, runtime, wait_until

CASES = json.loads((Path(__file__).parent / "http_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["request"] + " " + case["error"])
def test_refusals(server: Runtime, case: dict[str, Any]) -> None:
    method, path = case["request"].split(" ")
    body = case.get("body", "").encode() if method in ("POST", "PUT", "PATCH") else None
    status, headers, answer = server.call(path, body, method=method)
    assert (status, error_of(answer)) == (case["status"], case["error"])
    assert headers["content-type"] == "application/json"


def test_no_file_of_a_refused_load_is_taken(server: Runtime) -> None:
    for parameters, status in (
        ({"config": 1}, 500),
        ({"other": "x"}, 500),
        (1, 500),
    ):
        body = {"parameters": parameters}
        assert server.json("v2/repository/models/mix/load", body)[0] == status
    assert server.call("v2/repository/models/nope/load", b"")[0] == 500
    assert server.call("v2/repository/models/nope/unload", b"")[0] == 200
    status, _, answer = server.call("v2/repository/here/models/mix/load", b"")
    assert (status, error_of(answer)) == (501, "'repository_name' specification is not supported")


def test_loads_bring_configuration_and_files(server: Runtime) -> None:
    model = om.model_bytes(om.identity(om.FP32, "N", 3))
    config = {"backend": "onnxruntime", "max_batch_size": 5}
    with client.InferenceServerClient(server.http) as stub:
        stub.load_model("brought", config=json.dumps(config), files={"file:1/model.onnx": model})
        assert stub.get_model_config("brought")["max_batch_size"] == 5
        stub.unload_model("brought")
        with pytest.raises(InferenceServerException, match="failed to load 'brought'"):
            stub.load_model("brought")


def test_large_documents_are_read_past(server: Runtime) -> None:
    body = b'{"parameters":{"config":"' + b" " * LIMIT + b'"}}'
    status, _, answer = server.call("v2/repository/models/vary/load", body)
    assert (status, error_of(answer)) == (
        400,
        f"request JSON size of {len(body)} bytes exceeds the maximum allowed input size. Use "
        "--http-max-input-size to increase the limit.",
    )


# --- tensors -------------------------------------------------------------------------------------


def mixed(*inputs: dict[str, Any], outputs: list[dict[str, Any]], tail: bytes = b"") -> Any:
    head = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    return head + tail, {"Inference-Header-Content-Length": str(len(head))}


def test_json_and_binary_tensors_mix_in_one_request(server: Runtime) -> None:
    floats = np.array([1, 2], np.float32).tobytes()
    body, headers = mixed(
        {
            "name": "INPUT4",
            "datatype": "UINT8",
            "shape": [3],
            "parameters": {"binary_data_size": 3},
        },
        {"name": "INPUT6", "datatype": "INT64", "shape": [1], "data": [5]},
        {
            "name": "INPUT0",
            "datatype": "FP32",
            "shape": [2],
            "parameters": {"binary_data_size": 8},
        },
        outputs=[
            {"name": "OUTPUT6", "parameters": {"binary_data": True}},
            {"name": "OUTPUT0"},
            {"name": "OUTPUT4", "parameters": {"binary_data": True}},
        ],
        tail=b"abc" + floats,
    )
    status, found, answer = server.call("v2/models/mix/infer", body, headers=headers)
    length = int(found["inference-header-content-length"])
    shown = json.loads(answer[:length])["outputs"]
    assert status == 200
    assert [row["name"] for row in shown] == ["OUTPUT0", "OUTPUT4", "OUTPUT6"]
    assert shown[0]["data"] == [1.0, 2.0]
    assert answer[length:] == b"abc" + np.array([5]).tobytes()


@pytest.mark.parametrize(
    ("index", "datatype", "text"),
    [
        (0, "FP32", "[0.10000000149011612,NaN,-Infinity,-0.0]"),
        (1, "FP64", "[0.1,5e-324,NaN]"),
        (2, "BOOL", "[true,false]"),
        (3, "BYTES", '["ä\\n\\"","","😀"]'),
        (4, "UINT8", "[0,255]"),
        (5, "INT8", "[-128,127]"),
        (6, "INT64", "[-9223372036854775808,9223372036854775807]"),
        (7, "UINT64", "[18446744073709551615]"),
    ],
)
def test_values_come_back_as_they_went(
    server: Runtime, index: int, datatype: str, text: str
) -> None:
    count = len(json.loads(text))
    body = (
        f'{{"inputs":[{{"name":"INPUT{index}","datatype":"{datatype}","shape":[{count}],'
        f'"data":{text}}}],"outputs":[{{"name":"OUTPUT{index}"}}]}}'
    )
    status, _, answer = server.call("v2/models/mix/infer", body.encode())
    assert status == 200
    assert f'"data":{text}' in answer.decode()


def test_raw_requests_in_every_form(server: Runtime) -> None:
    headers = {"Inference-Header-Content-Length": "0"}
    status, found, answer = server.call("v2/models/one/infer", b"427", headers=headers)
    assert (status, answer[int(found["inference-header-content-length"]) :]) == (
        200,
        b"\x03\0\0\x00427",
    )
    status, _, answer = server.call("v2/models/vary/infer", b"abc", headers=headers)
    assert (status, error_of(answer)) == (
        400,
        "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model "
        "'vary'. Expected 0, got 3",
    )


def test_outputs_named_twice_are_refused(server: Runtime) -> None:
    body = {
        "inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1]}],
        "outputs": [{"name": "OUTPUT0"}, {"name": "OUTPUT0"}],
    }
    assert server.json("v2/models/mix/infer", body) == (
        400,
        {"error": "Duplicate output name 'OUTPUT0' is not allowed in a request"},
    )


def test_headers_become_parameters_or_are_refused(server: Runtime) -> None:
    body = b'{"inputs":[],"outputs":[{"name":"OUTPUT0"}]}'
    found = server.call("v2/models/mix/infer", body, headers={"My-Key": "v"})
    assert found[0] == 200
    status, _, answer = server.call("v2/models/mix/infer", body, headers={"triton_my-x": "v"})
    assert (status, "reserved for Triton usage" in error_of(answer)) == (400, True)


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({}, "Request JSON size of "),
        ({"Inference-Header-Content-Length": "0"}, "Request raw input size of "),
    ],
)
def test_bodies_above_the_limit_are_told_so_and_the_connection_lives(
    server: Runtime, headers: dict[str, str], text: str
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    body = b" " * (8 * LIMIT)
    head = f"POST /v2/models/vary/infer HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {len(body)}"
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)
        connection.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        assert stream.readline() == b"HTTP/1.1 400 Bad Request\r\n"
        received = b""
        while b"HTTP/1.1 200 OK" not in received:
            received += stream.readline()
    assert text.encode() in received
    assert b"exceeds the maximum allowed value of 1048576 bytes" in received


def test_binary_tensors_may_be_larger_than_the_limit(server: Runtime) -> None:
    array = np.ones((1, LIMIT), np.float32)
    with client.InferenceServerClient(server.http) as stub:
        item = client.InferInput("x", list(array.shape), "FP32").set_data_from_numpy(array)
        np.testing.assert_array_equal(stub.infer("vary", [item]).as_numpy("y"), array)


def test_few_bytes_of_json_cannot_ask_for_large_tensors(server: Runtime) -> None:
    item = {"name": "INPUT0", "datatype": "FP32", "shape": [16, 2**60 + 2], "data": [1.0]}
    _, found = server.json("v2/models/mix/infer", {"inputs": [item]})
    assert "causes total element count to exceed maximum size of" in found["error"]
    item["shape"] = [4, 2**60 + 2]
    _, found = server.json("v2/models/mix/infer", {"inputs": [item]})
    assert found["error"] == "byte size overflow for input 'INPUT0'"
    item["shape"] = [LIMIT]
    _, found = server.json("v2/models/mix/infer", {"inputs": [item]})
    assert "exceeds the maximum allowed value of 1048576 bytes" in found["error"]


@pytest.mark.parametrize("depth", [120, 200_000])
def test_nesting_is_bounded(server: Runtime, depth: int) -> None:
    data = "[" * depth + "1" + "]" * depth
    body = f'{{"inputs":[{{"name":"INPUT0","datatype":"FP32","shape":[1],"data":{data}}}]}}'
    status, _, answer = server.call("v2/models/mix/infer", body.encode())
    assert status == 400
    assert "JSON nesting depth exceeds maximum allowed limit (100)" in error_of(answer)


# --- shared memory -------------------------------------------------------------------------------


@pytest.fixture
def region(server: Runtime) -> Iterator[tuple[Any, Any]]:
    """A client, and a region of 4096 bytes that is registered as ``r``."""
    with client.InferenceServerClient(server.http) as stub:
        handle = shm.create_shared_memory_region("r", "/shoal_http_surface", 4096)
        stub.register_system_shared_memory("r", "/shoal_http_surface", 4096)
        try:
            yield stub, handle
        finally:
            stub.unregister_system_shared_memory()
            shm.destroy_shared_memory_region(handle)


def test_tensors_in_shared_memory(region: tuple[Any, Any]) -> None:
    stub, handle = region
    left, right = np.arange(16, dtype=np.int32), np.full(16, 3, np.int32)
    shm.set_shared_memory_region(handle, [left, right])
    inputs = [client.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    inputs[0].set_shared_memory("r", 64, 0)
    inputs[1].set_shared_memory("r", 64, 64)
    outputs = [client.InferRequestedOutput("OUTPUT0"), client.InferRequestedOutput("OUTPUT1")]
    outputs[1].set_shared_memory("r", 64, 128)
    for _ in range(3):
        found = stub.infer("addsub", inputs, outputs=outputs)
        np.testing.assert_array_equal(found.as_numpy("OUTPUT0")[0], left + right)
        assert found.get_output("OUTPUT1") == {
            "name": "OUTPUT1",
            "datatype": "INT32",
            "shape": [1, 16],
        }
        in_place = shm.get_contents_as_numpy(handle, np.int32, [1, 16], 128)
        np.testing.assert_array_equal(in_place[0], left - right)
    stub.unregister_system_shared_memory("r")
    assert stub.get_system_shared_memory_status() == []


@pytest.mark.parametrize(
    ("size", "offset", "output", "text"),
    [
        (64, 4096, 64, r"\[400\] Invalid offset for shared memory region: 'r'"),
        (64, 4090, 64, r"\[400\] Invalid offset \+ byte size for shared memory region: 'r'"),
        (32, 0, 64, r"\[400\] .* input byte size mismatch for input 'INPUT0' .* got 32"),
        (
            64,
            0,
            8,
            r"\[500\] shared memory size specified with the request for output 'OUTPUT0' \(8 bytes"
            r"\) should be at least 64 bytes to hold the results",
        ),
    ],
)
def test_bad_uses_of_shared_memory(
    region: tuple[Any, Any], size: int, offset: int, output: int, text: str
) -> None:
    stub, _ = region
    inputs = [client.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    inputs[0].set_shared_memory("r", size, offset)
    inputs[1].set_data_from_numpy(np.zeros((1, 16), np.int32))
    wanted = client.InferRequestedOutput("OUTPUT0")
    wanted.set_shared_memory("r", output, 0)
    with pytest.raises(InferenceServerException, match=text):
        stub.infer("addsub", inputs, outputs=[wanted])


def test_a_region_in_use_is_unregistered_later(server: Runtime, region: tuple[Any, Any]) -> None:
    stub, _ = region
    place = {"shared_memory_region": "r", "shared_memory_byte_size": 64}
    item = {"name": "INPUT0", "datatype": "FP32", "shape": [16], "parameters": place}
    body = json.dumps({"inputs": [item]}).encode()
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(POST % (b"slow/infer", len(body)) + body)
        server.call("v2/health/live")  # once it answers, the request before it has been read
        stub.unregister_system_shared_memory("r")
        assert [row["name"] for row in stub.get_system_shared_memory_status()] == ["r"]
        with pytest.raises(InferenceServerException, match="already in manager"):
            stub.register_system_shared_memory("r", "/shoal_http_surface", 4096)
        assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
    wait_until(lambda: not stub.get_system_shared_memory_status(), "the region is gone")


def test_cuda_regions_say_that_there_is_no_gpu(server: Runtime) -> None:
    body = {"raw_handle": {"b64": "AAAA"}, "byte_size": 8, "device_id": 0}
    assert server.json("v2/cudasharedmemory/region/c/register", body) == (
        400,
        {"error": "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t"},
    )


# --- the rest ------------------------------------------------------------------------------------


def test_settings_answer_with_all_of_themselves(server: Runtime) -> None:
    status, found = server.json("v2/trace/setting", {"trace_rate": "5"})
    assert (status, found["trace_rate"], found["trace_level"]) == (200, "5", ["OFF"])
    assert server.json("v2/trace/setting", {"trace_rate": None})[1]["trace_rate"] == "1000"
    status, found = server.json("v2/logging", {"log_verbose_level": 1, "unknown": 1})
    assert (status, found["log_verbose_level"], found["log_format"]) == (200, 1, "default")
    assert server.json("v2/logging", {"log_verbose_level": 0})[1] == server.json("v2/logging")[1]


def test_other_paths_of_the_metrics_port_are_empty(server: Runtime) -> None:
    port = server.metrics_port
    for path in ("metrics", "metrics/"):
        status, headers, body = server.call(path, port=port)
        assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert b"nv_inference_count" in body
    assert server.call("other", port=port)[::2] == (200, b"")
    assert server.call("metrics", b"", port=port)[0] == 405


def test_restricted_parts_want_their_header_first(tmp_path: Path) -> None:
    om.save(tmp_path / "models", "addsub", om.add_sub(), "max_batch_size: 8\n")
    flags = (
        "--http-restricted-api=health,inference:infer-key=infer-value",
        "--http-restricted-api=model-repository:admin-key=admin-value",
    )
    with runtime(tmp_path / "models", *flags, ready=False) as found:
        key = {"Infer-Key": "infer-value"}
        wait_until(lambda: found.call("v2/health/ready", headers=key)[0] == 200, "it is ready")
        for path, method in (
            ("v2/health/live", "GET"),
            ("v2/models/addsub/ready", "GET"),
            ("v2/models/addsub/infer", "GET"),  # asked for before the verb
            ("v2/models/addsub/generate", "POST"),
        ):
            status, _, answer = found.call(path, method=method)
            assert (status, error_of(answer)) == (
                403,
                "This API is restricted, expecting header 'infer-key'",
            )
        assert found.call("v2/health/live", headers={"infer-key": "wrong"})[0] == 403
        assert found.call("v2/repository/models/addsub/unload", b"", headers=key)[0] == 403
        admin = {"admin-key": "admin-value"}
        assert found.call("v2/repository/models/addsub/unload", b"", headers=admin)[0] == 503
        assert found.call("v2/models/addsub/stats")[0] == 200


def test_a_client_that_leaves_a_stream_ends_it(server: Runtime) -> None:
    body = json.dumps({"IN": [1, 2, 3], "DELAY": [0, 100, 120_000], "WAIT": 0}).encode()
    with server.socket() as connection:
        connection.sendall(POST % (b"repeat/generate_stream", len(body)) + body)
        assert connection.recv(64)

    def unloaded() -> bool:
        rows = server.json("v2/repository/index", {})[1]
        return any(r["name"] == "repeat" and r.get("state") == "UNAVAILABLE" for r in rows)

    # An unload waits for what still answers: two minutes, had the model not been told.
    assert server.call("v2/repository/models/repeat/unload", b"")[0] == 200
    wait_until(unloaded, "the model is unloaded")
    assert server.call("v2/repository/models/repeat/load", b"")[0] == 200

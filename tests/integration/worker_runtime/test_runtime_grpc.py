"""gRPC on a real runtime with stock clients: what needs a whole server, on both front ends."""

import asyncio
import json
import queue
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.grpc.aio as grpc_aio
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException, shared_memory

from tests.integration.worker_runtime.grpc_certificates import Authority
from tests.support import onnx_models as om
from tests.support.builtin_models import REPEAT
from tests.support.runtime_process import Runtime, runtime, wait_until

CPU = "instance_group [{ count: 1 kind: KIND_CPU }]\n"
IDENTITY = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
"""
ECHO = """
backend: "python"
input { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "PARAMETERS" data_type: TYPE_STRING dims: [ 1 ] }
"""
ECHO_PY = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [
                    pb_utils.Tensor(
                        "PARAMETERS", np.array([request.parameters().encode()], dtype=object)
                    )
                ],
                parameters={"whole": 1, "text": "x", "flag": True},
            )
            for request in requests
        ]
"""
DATA = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module", params=["native", "grpcio"])
def frontend(request: pytest.FixtureRequest) -> str:
    return f"--grpc-frontend={request.param}"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("grpc") / "models"
    om.save(root, "fixed", om.identity(om.FP32, 2, 3), CPU)
    om.save(root, "simple", om.add_sub(), f"max_batch_size: 8\n{CPU}")
    om.save(root, "text", om.identity(om.STRING, "N"), f"max_batch_size: 0\n{CPU}")
    om.save(root, "big", om.identity(om.FP32, "N", 250_000), f"max_batch_size: 0\n{CPU}")
    for name, config in (
        ("slow", IDENTITY + 'parameters { key: "delay_ms" value { string_value: "400" } }\n'),
        ("repeat", REPEAT),
    ):
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config + CPU)
    return root


@pytest.fixture(scope="module")
def served(models: Path, frontend: str) -> Iterator[Runtime]:
    with runtime(models, frontend) as found:
        yield found


@pytest.fixture
def client(served: Runtime) -> Iterator[Any]:
    with grpc_client.InferenceServerClient(served.grpc) as found:
        yield found


def tensor(name: str, array: np.ndarray, datatype: str = "FP32") -> Any:
    item = grpc_client.InferInput(name, list(array.shape), datatype)
    item.set_data_from_numpy(array)
    return item


def fixed() -> list[Any]:
    return [tensor("x", DATA)]


def slow(value: float = 1) -> list[Any]:
    return [tensor("INPUT0", np.array([value], np.float32))]


def repeat(values: list[int], delay_ms: int = 0) -> list[Any]:
    return [
        tensor("IN", np.array(values, np.int32), "INT32"),
        tensor("DELAY", np.full(len(values), delay_ms, np.uint32), "UINT32"),
        tensor("WAIT", np.array([0], np.uint32), "UINT32"),
    ]


def message(model: str, inputs: list[Any], request_id: str = "") -> Any:
    found = pb.ModelInferRequest(model_name=model, id=request_id)
    for item in inputs:
        found.inputs.append(item._get_tensor())
        found.raw_input_contents.append(item._get_content())
    return found


def keep(answers: "queue.Queue[Any]", result: Any, error: Any) -> None:
    answers.put(error or result)


def metric(server: Runtime, series: str) -> float:
    lines = server.metrics().splitlines()
    return float(next(line for line in lines if line.startswith(series)).removeprefix(series))


def cancelled(server: Runtime, model: str) -> float:
    labels = f'model="{model}",reason="CANCELED",version="1"'
    return metric(server, f"nv_inference_request_failure{{{labels}}} ")


def pending(server: Runtime, model: str) -> float:
    return metric(server, f'nv_inference_pending_request_count{{model="{model}",version="1"}} ')


# --- shared memory ---------------------------------------------------------------------------


@contextmanager
def region(client: Any, name: str, size: int) -> Iterator[Any]:
    handle = shared_memory.create_shared_memory_region(name, f"/shoal_{name}", size)
    client.register_system_shared_memory(name, f"/shoal_{name}", size)
    try:
        yield handle
    finally:
        client.unregister_system_shared_memory(name)
        shared_memory.destroy_shared_memory_region(handle)


def test_tensors_travel_through_shared_memory(client: Any) -> None:
    left, right = np.full((1, 16), 5, np.int32), np.arange(16, dtype=np.int32).reshape(1, 16)
    with region(client, "grpc_in", 128) as given, region(client, "grpc_out", 64) as taken:
        shared_memory.set_shared_memory_region(given, [right], offset=64)
        inputs = [
            tensor("INPUT0", left, "INT32"),
            grpc_client.InferInput("INPUT1", [1, 16], "INT32"),
        ]
        inputs[1].set_shared_memory("grpc_in", 64, offset=64)
        outputs = [
            grpc_client.InferRequestedOutput("OUTPUT0"),
            grpc_client.InferRequestedOutput("OUTPUT1"),
        ]
        outputs[0].set_shared_memory("grpc_out", 64)
        result = client.infer("simple", inputs, outputs=outputs)
        answer = result.get_response()
        assert len(answer.raw_output_contents) == 2
        assert answer.raw_output_contents[0] == b""
        assert answer.outputs[0].shape == [1, 16]
        written = shared_memory.get_contents_as_numpy(taken, np.int32, [1, 16])
        np.testing.assert_array_equal(written, left + right)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT1"), left - right)
        status = client.get_system_shared_memory_status("grpc_in").regions["grpc_in"]
        assert (status.name, status.key, status.byte_size) == ("grpc_in", "/shoal_grpc_in", 128)
        outputs[0].set_shared_memory("grpc_out", 32)
        with pytest.raises(
            InferenceServerException,
            match=r"for output 'OUTPUT0' \(32 bytes\) should be at least 64 bytes to hold",
        ):
            client.infer("simple", inputs, outputs=outputs)
        inputs[1].set_shared_memory("grpc_in", 60, offset=64)
        with pytest.raises(InferenceServerException, match="Expected 64, got 60"):
            client.infer("simple", inputs)
        with pytest.raises(InferenceServerException, match="already in manager"):
            client.register_system_shared_memory("grpc_in", "/shoal_grpc_in", 128)
    with pytest.raises(InferenceServerException, match="Unable to find shared memory region"):
        client.infer("simple", inputs)


def test_strings_travel_through_shared_memory(client: Any) -> None:
    texts = np.array([b"one", b"", "zwölf".encode()], dtype=object)
    raw = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    with region(client, "grpc_text", 128) as given:
        shared_memory.set_shared_memory_region(given, [np.frombuffer(raw, np.uint8)])
        item = grpc_client.InferInput("x", [3], "BYTES")
        item.set_shared_memory("grpc_text", len(raw))
        wanted = grpc_client.InferRequestedOutput("y")
        wanted.set_shared_memory("grpc_text", len(raw), offset=64)
        client.infer("text", [item], outputs=[wanted])
        written = shared_memory.get_contents_as_numpy(given, np.uint8, [128])
        assert written[64 : 64 + len(raw)].tobytes() == raw


# --- streams -----------------------------------------------------------------------------------


def test_decoupled_models_over_the_stock_stream(client: Any) -> None:
    answers: queue.Queue[Any] = queue.Queue()
    client.start_stream(callback=partial(keep, answers))
    for name, values in (("a", [1, 2, 3]), ("b", []), ("c", [9])):
        client.async_stream_infer(
            "repeat", repeat(values), request_id=name, enable_empty_final_response=True
        )
    found: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    finals = 0
    while finals < 3:
        answer = answers.get(timeout=30)
        response = answer.get_response()
        if response.outputs:
            found[response.id].append(int(answer.as_numpy("OUT")[0]))
        finals += response.parameters["triton_final_response"].bool_param
    client.stop_stream()
    assert found == {"a": [1, 2, 3], "b": [], "c": [9]}


def test_hanging_up_cancels_everything_in_flight(served: Runtime, client: Any) -> None:
    before = cancelled(served, "slow")
    answers: queue.Queue[Any] = queue.Queue()
    client.start_stream(callback=partial(keep, answers))
    for _ in range(4):
        client.async_stream_infer("slow", slow())
    client.async_stream_infer("repeat", repeat([1] * 100, delay_ms=100))
    first = answers.get(timeout=30)  # all of them have been read by now
    assert not isinstance(first, InferenceServerException)
    client.stop_stream(cancel_requests=True)
    wait_until(lambda: cancelled(served, "slow") > before, "cancelled requests")
    assert client.infer("slow", slow(7)).as_numpy("OUTPUT0")[0] == 7


def test_a_cancelled_call_leaves_the_queue(served: Runtime, client: Any) -> None:
    before = cancelled(served, "slow")
    answers: queue.Queue[Any] = queue.Queue()
    calls = [client.async_infer("slow", slow(), partial(keep, answers)) for _ in range(6)]
    wait_until(lambda: pending(served, "slow") >= 4, "requests in the queue")
    for call in calls:
        call.cancel()
    wait_until(lambda: pending(served, "slow") == 0, "an empty queue")
    assert cancelled(served, "slow") >= before + 3
    kinds = {type(answers.get(timeout=30)) for _ in range(6)}
    assert kinds == {InferenceServerException}


def test_a_deadline_is_a_deadline_of_the_queue(served: Runtime, client: Any) -> None:
    before = cancelled(served, "slow")
    answers: queue.Queue[Any] = queue.Queue()
    ahead = [client.async_infer("slow", slow(), partial(keep, answers)) for _ in range(4)]
    wait_until(lambda: pending(served, "slow") >= 1, "requests in the queue")
    with pytest.raises(InferenceServerException) as caught:
        client.infer("slow", slow(), client_timeout=0.1)
    assert caught.value.status() == "StatusCode.DEADLINE_EXCEEDED"
    wait_until(lambda: cancelled(served, "slow") > before, "a cancelled request")
    for _ in ahead:
        assert not isinstance(answers.get(timeout=30), InferenceServerException)


def test_a_stream_that_is_not_read_from_stops_being_read(served: Runtime) -> None:
    asked = 0

    def requests() -> Iterator[Any]:
        nonlocal asked
        array = np.zeros((1, 250_000), np.float32)
        whole = message("big", [tensor("x", array)])
        while asked < 2000:
            asked += 1
            yield whole

    options = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        # why: a small window of a fixed size; the client library would grow it to any load.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", 65535),
    ]
    with grpc.insecure_channel(served.grpc, options=options) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        stream = stub.ModelStreamInfer(requests())
        seen = [-1]

        def settled() -> bool:
            seen.append(asked)
            return len(seen) > 40 and len(set(seen[-25:])) == 1

        wait_until(settled, "a stream that stands still")
        assert 0 < asked < 300
        first = next(stream)
        assert first.infer_response.model_name == "big"
        stream.cancel()


async def test_thousands_of_calls_at_once(served: Runtime) -> None:
    array = np.arange(16, dtype=np.int32).reshape(1, 16)
    request = message(
        "simple", [tensor("INPUT0", array, "INT32"), tensor("INPUT1", array, "INT32")]
    )
    async with grpc.aio.insecure_channel(served.grpc) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        replies = await asyncio.gather(*(stub.ModelInfer(request) for _ in range(3000)))
    expected = (array + array).tobytes()
    assert all(reply.raw_output_contents[0] == expected for reply in replies)


async def test_asyncio_streams_side_by_side(served: Runtime) -> None:
    async def one(number: int) -> list[str]:
        async def requests() -> Any:
            for i in range(50):
                yield {"model_name": "fixed", "inputs": fixed(), "request_id": f"{number}-{i}"}

        async with grpc_aio.InferenceServerClient(served.grpc) as client:
            found = []
            async for result, error in client.stream_infer(requests()):
                assert error is None
                found.append(result.get_response().id)
            return found

    for number, ids in enumerate(await asyncio.gather(*(one(n) for n in range(8)))):
        assert ids == [f"{number}-{i}" for i in range(50)]


# --- compression and large messages --------------------------------------------------------------


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("level", ["none", "low", "high"])
def test_compression_both_ways(models: Path, frontend: str, coding: str, level: str) -> None:
    flag = f"--grpc-infer-response-compression-level={level}"
    with runtime(models, frontend, flag) as server:
        with grpc_client.InferenceServerClient(server.grpc) as client:
            result = client.infer("fixed", fixed(), compression_algorithm=coding)
            np.testing.assert_array_equal(result.as_numpy("y"), DATA)
            answers: queue.Queue[Any] = queue.Queue()
            client.start_stream(partial(keep, answers), compression_algorithm=coding)
            client.async_stream_infer("fixed", fixed())
            np.testing.assert_array_equal(answers.get(timeout=30).as_numpy("y"), DATA)


def test_many_typed_strings_come_back(served: Runtime) -> None:
    count = 300_000
    request = pb.ModelInferRequest(model_name="text")
    item = request.inputs.add(name="x", datatype="BYTES", shape=[count])
    item.contents.bytes_contents.extend([b"A"] * count)
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(served.grpc, options=options) as channel:
        reply = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(request, timeout=60)
    assert reply.raw_output_contents[0] == b"\x01\0\0\0A" * count


@pytest.mark.parametrize("tls", [False, True])
def test_large_tensors_in_both_directions(
    models: Path, frontend: str, tmp_path: Path, tls: bool
) -> None:
    """Larger than a window, and two calls at once on one connection."""
    flags, options = [frontend], dict[str, Any]()
    if tls:
        authority = Authority(tmp_path, "authority")
        pair = authority.pair("server")
        flags += ["--grpc-use-ssl=true", f"--grpc-server-cert={pair.certificate}"]
        flags += [f"--grpc-server-key={pair.key}", f"--grpc-root-cert={authority.certificate}"]
        options = {"ssl": True, "root_certificates": str(authority.certificate)}
    rows = np.random.default_rng(0).random((20, 250_000), np.float32)
    with (
        runtime(models, *flags) as server,
        grpc_client.InferenceServerClient(server.grpc, **options) as client,
    ):
        pending = []
        for data in (rows, rows[::-1].copy()):
            tensor = grpc_client.InferInput("x", data.shape, "FP32").set_data_from_numpy(data)
            answers: queue.Queue[Any] = queue.Queue()
            client.async_infer("big", [tensor], partial(keep, answers), client_timeout=60)
            pending.append((data, answers))
        for data, answers in pending:
            np.testing.assert_array_equal(answers.get(timeout=60).as_numpy("y"), data)


# --- who may call --------------------------------------------------------------------------------


def test_restricted_protocols(models: Path, frontend: str) -> None:
    flags = (
        "--grpc-restricted-protocol=model-repository:admin-key=admin-value",
        "--grpc-restricted-protocol=inference,health:infer-key=infer-value",
    )
    infer = {"triton-grpc-protocol-infer-key": "infer-value"}
    admin = {"triton-grpc-protocol-admin-key": "admin-value"}
    with runtime(models, frontend, *flags) as server:
        with grpc_client.InferenceServerClient(server.grpc) as client:
            client.get_inference_statistics("fixed")
            for call in (
                client.is_server_live,
                client.is_server_ready,
                partial(client.is_model_ready, "fixed"),
                partial(client.infer, "fixed", fixed(), headers={"test": "1"}),
                partial(client.unload_model, "fixed", headers=infer),
            ):
                with pytest.raises(InferenceServerException, match="is restricted") as caught:
                    call()
                assert caught.value.status() == "StatusCode.UNAVAILABLE"
            assert client.is_server_live(infer)
            client.infer("fixed", fixed(), headers=infer)
            with pytest.raises(InferenceServerException, match="explicit model load / unload"):
                client.unload_model("fixed", headers=admin)
            answers: queue.Queue[Any] = queue.Queue()
            client.start_stream(partial(keep, answers), headers={"test": "1"})
            text = "expecting header 'triton-grpc-protocol-infer-key'"
            assert text in str(answers.get(timeout=30))
            with pytest.raises(InferenceServerException, match="no longer in valid state"):
                client.async_stream_infer("fixed", fixed())
            client.stop_stream()
            client.start_stream(partial(keep, answers), headers=infer)
            client.async_stream_infer("fixed", fixed())
            assert not isinstance(answers.get(timeout=30), InferenceServerException)


def test_metadata_and_parameters_reach_the_model(tmp_path: Path, frontend: str) -> None:
    root = tmp_path / "echoing"
    (root / "echo" / "1").mkdir(parents=True)
    (root / "echo" / "config.pbtxt").write_text(ECHO + CPU)
    (root / "echo" / "1" / "model.py").write_text(ECHO_PY)
    trace = tmp_path / "trace.json"
    flags = (
        "--grpc-header-forward-pattern=^x-",
        "--trace-config=level=TIMESTAMPS",
        "--trace-config=rate=1",
        f"--trace-config=triton,file={trace}",
    )
    inputs = [tensor("IN", np.ones(1, np.float32))]
    with runtime(root, frontend, *flags) as server:
        with grpc_client.InferenceServerClient(server.grpc) as client:
            result = client.infer(
                "echo", inputs, headers={"x-user": "me", "other": "no"}, parameters={"mine": 1}
            )
            assert json.loads(result.as_numpy("PARAMETERS")[0]) == {"x-user": "me", "mine": 1}
            parameters = result.get_response().parameters
            assert parameters["whole"].int64_param == 1
            assert parameters["text"].string_param == "x"
            assert parameters["flag"].bool_param
            answers: queue.Queue[Any] = queue.Queue()
            client.start_stream(partial(keep, answers), headers={"x-user": "you"})
            client.async_stream_infer("echo", inputs, request_id="s")
            answer = answers.get(timeout=30)
            assert json.loads(answer.as_numpy("PARAMETERS")[0]) == {"x-user": "you"}
            client.stop_stream()
        assert server.stop() == 0
    names = {
        stamp["name"]
        for row in json.loads(trace.read_text())
        for stamp in row.get("timestamps", [])
    }
    assert {"GRPC_WAITREAD_START", "GRPC_WAITREAD_END", "GRPC_SEND_START", "GRPC_SEND_END"} <= names


def test_tls_and_mutual_tls(models: Path, frontend: str, tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path, "authority"), Authority(tmp_path, "stranger")
    server_pair, client_pair = authority.pair("server"), authority.pair("client")
    wrong_pair = stranger.pair("wrong")
    flags = (
        frontend,
        "--grpc-use-ssl=true",
        f"--grpc-server-cert={server_pair.certificate}",
        f"--grpc-server-key={server_pair.key}",
        f"--grpc-root-cert={authority.certificate}",
    )

    def reaches(server: Runtime, **options: Any) -> bool:
        with grpc_client.InferenceServerClient(server.grpc, **options) as client:
            try:
                result = client.infer("fixed", fixed(), client_timeout=10)
            except InferenceServerException:
                return False
            return bool(np.array_equal(result.as_numpy("y"), DATA))

    def secure(root: Path, pair: Any = None) -> dict[str, Any]:
        options = {"ssl": True, "root_certificates": str(root)}
        if pair is not None:
            options |= {"private_key": str(pair.key), "certificate_chain": str(pair.certificate)}
        return options

    with runtime(models, *flags) as server:
        assert reaches(server, **secure(authority.certificate))
        assert not reaches(server, **secure(stranger.certificate))
        assert not reaches(server)
    with runtime(models, *flags, "--grpc-use-ssl-mutual=true") as server:
        assert reaches(server, **secure(authority.certificate, client_pair))
        assert not reaches(server, **secure(authority.certificate))
        assert not reaches(server, **secure(authority.certificate, wrong_pair))


def test_tls_files_that_are_not_there_end_the_start(models: Path, frontend: str) -> None:
    flags = ("--grpc-use-ssl=true", "--grpc-server-cert=/nowhere.crt", "--grpc-server-key=/nowhere")
    with pytest.raises(AssertionError, match=r"nowhere\.crt"):
        with runtime(models, frontend, *flags):
            pass


# --- the end -------------------------------------------------------------------------------------


def test_a_stopping_server_ends_what_runs_and_refuses_the_rest(models: Path, frontend: str) -> None:
    with runtime(models, frontend) as server:
        with grpc_client.InferenceServerClient(server.grpc) as client:
            answers: queue.Queue[Any] = queue.Queue()
            client.start_stream(callback=partial(keep, answers))
            client.async_stream_infer("repeat", repeat([1] * 8, delay_ms=100), request_id="long")
            assert answers.get(timeout=30).get_response().id == "long"
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: "stopping" in server.log.read_text(), "the end to begin")
            client.async_stream_infer("fixed", fixed(), request_id="late")
            refused, answered = 0, 1
            while answered < 8:
                answer = answers.get(timeout=30)
                if isinstance(answer, InferenceServerException):
                    assert "GRPC server is shutting down and has stopped" in str(answer)
                    refused += 1
                else:
                    answered += 1
            assert refused == 1
        assert server.process.wait(20) == 0

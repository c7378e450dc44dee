"""What models do never holds up the event loop, by what the loop says of its own lateness."""

import base64
import gzip
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from http.client import parse_headers
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import grpc
import hpack
import numpy as np
import pytest
import tritonclient.http as http_client
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from tests.support import python_models as pm
from tests.support.http2_peer import HEADERS
from tests.support.runtime_process import Runtime, runtime, wait_until
from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.wire import varint

pytestmark = pytest.mark.integration
HANGS_S = 3
# Far more than a busy machine makes of nothing, far less than each of these models hangs.
LATE_S = "1"
SLOW_READINESS = f"""
import os
import time


class TritonPythonModel:
    def initialize(self, args):
        self.flag = os.path.join(args["model_repository"], "slow")

    def is_ready(self):
        if os.path.exists(self.flag):
            print("asked", flush=True)
            time.sleep({HANGS_S})
        return True

    def execute(self, requests):
        return []
"""
ANSWERS = 40_000
MANY = f"""
import numpy as np


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for number in range({ANSWERS}):
                output = pb_utils.Tensor("OUTPUT0", np.full(1, number, np.float32))
                sender.send(pb_utils.InferenceResponse([output]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
# Reads nothing meanwhile: no thread of its process runs while one sleeps with the interpreter.
SLOW_READER = f"""
import ctypes
import numpy as np


class TritonPythonModel:
    def execute(self, requests):
        (request,) = requests
        call = pb_utils.InferenceRequest(
            model_name="many", requested_output_names=["OUTPUT0"], inputs=request.inputs()
        )
        answers = call.exec(decoupled=True)
        print("called", flush=True)
        ctypes.PyDLL(None).usleep({HANGS_S} * 1_000_000)
        found = [a.output_tensors()[0].as_numpy()[0] for a in answers if a.output_tensors()]
        assert found == list(range({ANSWERS})), len(found)
        output = pb_utils.Tensor("OUTPUT0", np.full(1, len(found), np.float32))
        return [pb_utils.InferenceResponse([output])]
"""


ECHO = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [-1] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [-1] }
"""
TEXTS = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_STRING dims: [-1] }
output { name: "OUTPUT0" data_type: TYPE_STRING dims: [-1] }
"""
MANY_TEXTS = 5_000_000


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lag") / "models"
    root.mkdir()
    pm.add(root, "readiness", SLOW_READINESS)
    pm.add(root, "reader", SLOW_READER)
    pm.add(root, "many", MANY, config="model_transaction_policy { decoupled: true }")
    for name, config in (("echo", ECHO), ("texts", TEXTS)):
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config)
    return root


@pytest.fixture
def server(models: Path) -> Iterator[Runtime]:
    with runtime(models, "--model-control-mode=explicit", "--load-model=*") as found:
        yield found


def late(server: Runtime) -> int:
    """How often the loop was later than ``LATE_S``."""
    text = server.metrics()
    counts = {
        bound: int(count)
        for bound, count in re.findall(r'shoal_loop_lag_seconds_bucket{le="(.+?)"} (\d+)', text)
    }
    assert counts["+Inf"] > 0
    return counts["+Inf"] - counts[LATE_S]


def test_probes_do_not_wait_for_a_model_s_is_ready(server: Runtime, models: Path) -> None:
    asked: list[int] = []

    def probe() -> None:
        asked.append(server.call("v2/models/readiness/ready")[0])

    flag = models / "readiness" / "slow"
    flag.touch()
    try:
        probing = threading.Thread(target=probe)
        probing.start()
        wait_until(lambda: "asked" in server.log.read_text(), "is_ready to hang")
        assert server.call("v2/health/live")[0] == 200
        assert server.call("v2/health/ready")[0] == 200
        probing.join()
    finally:
        flag.unlink()
    assert asked == [200]
    assert late(server) == 0


def test_answers_for_a_model_that_does_not_read_wait_beside_the_loop(server: Runtime) -> None:
    given = {"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1]}
    answers: list[bytes] = []

    def ask() -> None:
        body = json.dumps({"inputs": [given]}).encode()
        answers.append(server.call("v2/models/reader/infer", body)[2])

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: "called" in server.log.read_text(), "the model to call")
    while asking.is_alive():
        assert server.call("v2/health/live")[0] == 200
        asking.join(0.05)
    (answer,) = answers
    assert json.loads(answer)["outputs"][0]["data"] == [ANSWERS]
    assert late(server) == 0


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_large_json_is_read_and_written_in_slices(server: Runtime, coding: str) -> None:
    """A million numbers each way, and a request behind them on the same connection."""
    numbers = np.random.default_rng(1).random(1_000_000, np.float32)

    def asked(values: list[float]) -> bytes:
        given = {"name": "INPUT0", "datatype": "FP32", "shape": [len(values)], "data": values}
        body = json.dumps({"id": "a", "inputs": [given]}).encode()
        head = (
            f"POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\nAccept-Encoding: {coding}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    with server.socket() as connection, connection.makefile("rb") as stream:
        sending = threading.Thread(
            target=connection.sendall, args=(asked(numbers.tolist()) + asked([7]),)
        )
        sending.start()
        for expected in (numbers, [7]):
            status, headers = stream.readline(), parse_headers(stream)
            body = stream.read(int(headers["Content-Length"]))
            assert (status, headers.get("Content-Encoding", "")) == (b"HTTP/1.1 200 OK\r\n", coding)
            data = json.loads(gzip.decompress(body) if coding else body)
            assert data["id"] == "a"
            np.testing.assert_array_equal(np.float32(data["outputs"][0]["data"]), expected)
        sending.join()
    assert late(server) == 0


def test_large_json_that_only_a_slow_reader_takes_is_read_in_slices(server: Runtime) -> None:
    """Numbers that are not finite, in rows: read in one piece they stopped all else for seconds."""
    rows = 2_500_000
    start = f'{{"inputs":[{{"name":"INPUT0","datatype":"FP32","shape":[{2 * rows}],"data":['
    for last, said in (
        ('["x",NaN]', "Unable to parse 'data': attempt to access JSON non-number as double"),
        ('[1,NaN]],"parameters":{"a":', "the request JSON buffer: Invalid value. at 15000093"),
    ):
        body = (start + "[1,2]," * (rows - 1) + last + "]}]}").encode()
        status, _, answer = server.call("v2/models/echo/infer", body)
        assert status == 500, answer
        assert said in json.loads(answer)["error"]
        assert late(server) == 0


def test_large_bodies_of_generate_and_of_loads_are_read_in_slices(server: Runtime) -> None:
    """In one piece they stopped all else for one to three seconds; the rest is refused unread."""
    numbers = b"[%b" % (b"1," * 10_000_000)
    for body, status, said in (
        (b'{"INPUT0":%b"x"]}' % numbers, 500, "attempt to access JSON non-number as double"),
        (b'{"INPUT0":1,"parameters":%b2]}' % numbers, 500, "Expected JSON object for keyword"),
    ):
        found, _, answer = server.call("v2/models/echo/generate", body)
        assert (found, said in answer.decode()) == (status, True), answer[:200]
    text = base64.b64encode(bytes(12_000_000)).decode()
    given = {"config": json.dumps({"backend": "identity"}), "file:1/model.bin": text}
    body = json.dumps({"parameters": given}).encode()
    status, _, answer = server.call("v2/repository/models/given/load", body)
    assert status == 200, answer
    for path in ("v2/systemsharedmemory/region/a/register", "v2/trace/setting", "v2/logging"):
        status, _, answer = server.call(path, b'{"key":[%b]}' % (b"{}," * 200_000 + b"{}"))
        assert (status, b"exceeds the maximum allowed input size" in answer) == (400, True)
    assert late(server) == 0


@pytest.fixture(scope="module")
def many_texts() -> bytes:
    """Of no, one and two letters: in one piece they stopped all else for one to two seconds."""
    return b"".join([b"\0\0\0\0\1\0\0\0a\2\0\0\0bc"] * (MANY_TEXTS // 3))


@pytest.mark.parametrize("flag", ["--frontends=0", "--frontends=1"])
def test_many_texts_are_read_and_written_in_slices(
    models: Path, many_texts: bytes, flag: str
) -> None:
    """Over HTTP and gRPC, as the bytes of a message, in typed fields and in shared memory."""
    count, size = MANY_TEXTS // 3 * 3, len(many_texts)
    with runtime(models, "--model-control-mode=explicit", "--load-model=texts", flag) as server:
        wanted = {"name": "OUTPUT0", "parameters": {"binary_data": True}}
        given = {"name": "INPUT0", "datatype": "BYTES", "shape": [count]}
        head = {"inputs": [given | {"parameters": {"binary_data_size": size}}]}
        text = json.dumps(head | {"outputs": [wanted]}).encode()
        length = {"Inference-Header-Content-Length": str(len(text))}
        status, headers, answer = server.call(
            "v2/models/texts/infer", text + many_texts, headers=length
        )
        assert status == 200, answer[:200]
        assert answer[int(headers["inference-header-content-length"]) :] == many_texts
        assert late(server) == 0

        request = pb.ModelInferRequest(model_name="texts")
        item = request.inputs.add(name="INPUT0", datatype="BYTES", shape=[count])
        request.raw_input_contents.append(many_texts)
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(server.grpc, options=options) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            assert stub.ModelInfer(request, timeout=60).raw_output_contents[0] == many_texts
            del request.raw_input_contents[:]
            item.contents.bytes_contents.extend([b"", b"a", b"bc"] * (count // 3))
            (reply,) = stub.ModelStreamInfer(iter([request]), timeout=60)
            assert reply.infer_response.raw_output_contents[0] == many_texts
        assert late(server) == 0

        region = SharedMemory(create=True, size=2 * size)
        try:
            region.buf[:size] = many_texts
            with http_client.InferenceServerClient(server.http, network_timeout=60) as client:
                client.register_system_shared_memory("part", f"/{region.name}", 2 * size)
                texts = http_client.InferInput("INPUT0", [count], "BYTES")
                texts.set_shared_memory("part", size)
                kept = http_client.InferRequestedOutput("OUTPUT0")
                kept.set_shared_memory("part", size, size)
                client.infer("texts", [texts], outputs=[kept])
            assert region.buf[size : 2 * size] == many_texts
        finally:
            region.close()
            region.unlink()
        assert late(server) == 0


def length_delimited(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


# Each stopped all else for two to five seconds.
ATTACKS = {
    "more than 4096 raw_input_contents": length_delimited(7, b"") * 4_000_000,
    "more than 4096 inputs": b"".join(
        length_delimited(5, length_delimited(1, b"%d" % (number % 29_999)))
        for number in range(30_000)
    ),
    "shape and parameters of input 'INPUT0' take": length_delimited(
        5, length_delimited(1, b"INPUT0") + length_delimited(3, b"\1" * 8_000_000)
    ),
    "of input 'aaaa": length_delimited(5, length_delimited(1, b"a" * 16_000_000)),
}


@pytest.mark.parametrize("said", ATTACKS)
def test_what_a_message_has_beside_its_values_is_bounded(server: Runtime, said: str) -> None:
    data = length_delimited(1, b"echo") + ATTACKS[said]
    with grpc.insecure_channel(server.grpc) as channel:
        infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        with pytest.raises(grpc.RpcError) as error:
            infer(data, timeout=60)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert said in error.value.details()
    assert late(server) == 0


def test_typed_values_are_read_in_slices(server: Runtime) -> None:
    """In packed fields and one by one: protobuf alone took seconds."""
    values = np.random.default_rng(1).random(8_000_000, np.float32)
    packed = 7_000_000
    item = pb.ModelInferRequest.InferInputTensor(name="INPUT0", datatype="FP32", shape=[8_000_000])
    single = np.zeros(8_000_000 - packed, [("tag", "u1"), ("value", "<f4")])
    single["tag"], single["value"] = 6 << 3 | 5, values[packed:]
    contents = length_delimited(6, values[:packed].tobytes()) + single.tobytes()
    data = length_delimited(1, b"echo") + length_delimited(
        5, item.SerializeToString() + length_delimited(5, contents)
    )
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server.grpc, options=options) as channel:
        infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        reply = pb.ModelInferResponse.FromString(infer(data, timeout=60))
    assert reply.raw_output_contents[0] == values.tobytes()
    assert late(server) == 0


def test_a_large_output_is_classified_in_slices(server: Runtime) -> None:
    count = 1_000_000
    request = pb.ModelInferRequest(model_name="echo")
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[count])
    request.outputs.add(name="OUTPUT0").parameters["classification"].int64_param = count
    request.raw_input_contents.append(np.arange(count, dtype=np.float32).tobytes())
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server.grpc, options=options) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        reply = stub.ModelInfer(request, timeout=60)
    assert list(reply.outputs[0].shape) == [count]
    assert b"999999.000000:999999" in reply.raw_output_contents[0][:64]
    assert late(server) == 0


# --- a server of many models ---------------------------------------------------------------

MODELS = 210
LONGEST_MS = 10
CACHED = ECHO + "response_cache { enable: true }\n"
BATCHING = "max_batch_size: 64\n" + ECHO


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A server whose loop is probed."""
    root = tmp_path_factory.mktemp("crowd") / "models"
    configs = {f"m{number}": BATCHING for number in range(MODELS)}
    for name, config in (configs | {"cached": CACHED, "echo": ECHO}).items():
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config)
    flags = ("--cache-config=local,size=100000000", "--model-control-mode=explicit")
    with runtime(
        *(root, *flags, "--load-model=*"), module="tests.support.probed_runtime"
    ) as server:
        with http_client.InferenceServerClient(server.http, network_timeout=60) as client:
            for number in range(MODELS):
                for rows in range(1, 9):
                    given = http_client.InferInput("INPUT0", [rows, 1], "FP32")
                    given.set_data_from_numpy(np.ones((rows, 1), np.float32))
                    client.infer(f"m{number}", [given])
        yield server


def longest_ms(server: Runtime, call: Callable[[], object]) -> float:
    """Of one turn of the loop while ``call`` is answered, the least of three tries."""

    def once() -> float:
        server.call("probe", port=server.metrics_port)
        call()
        return float(server.call("probe", port=server.metrics_port)[2])

    return min(once() for _ in range(3))


@pytest.mark.parametrize(
    "path",
    [
        *("v2", "v2/health/live", "v2/health/ready", "v2/models/stats", "v2/models/m1/stats"),
        *("v2/models/m1", "v2/models/m1/ready", "v2/models/m1/config", "v2/trace/setting"),
        *("v2/models/m1/trace/setting", "v2/logging", "v2/systemsharedmemory/status"),
        "v2/cudasharedmemory/status",
    ],
)
def test_no_question_to_a_server_of_many_models_holds_it_up(crowded: Runtime, path: str) -> None:
    def ask() -> None:
        assert crowded.call(path)[0] == 200

    assert longest_ms(crowded, ask) < LONGEST_MS


def test_neither_do_its_metrics_and_its_index(crowded: Runtime) -> None:
    def scrape() -> None:
        assert f'model="m{MODELS - 1}"' in crowded.metrics()

    def index() -> None:
        assert len(crowded.json("v2/repository/index", {})[1]) == MODELS + 2

    assert longest_ms(crowded, scrape) < LONGEST_MS
    assert longest_ms(crowded, index) < LONGEST_MS


def test_neither_do_its_answers_over_grpc(crowded: Runtime) -> None:
    with grpc.insecure_channel(crowded.grpc) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

        def statistics() -> None:
            assert len(stub.ModelStatistics(pb.ModelStatisticsRequest()).model_stats) == MODELS + 2

        def index() -> None:
            assert len(stub.RepositoryIndex(pb.RepositoryIndexRequest()).models) == MODELS + 2

        assert longest_ms(crowded, statistics) < LONGEST_MS
        assert longest_ms(crowded, index) < LONGEST_MS


def test_neither_does_what_the_response_cache_hashes_and_copies(crowded: Runtime) -> None:
    values = np.random.default_rng(1).random(4_000_000, np.float32)
    request = pb.ModelInferRequest(model_name="cached")
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[len(values)])
    request.raw_input_contents.append(values.tobytes())
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(crowded.grpc, options=options) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

        def infer() -> None:
            reply = stub.ModelInfer(request, timeout=60)
            assert reply.raw_output_contents[0] == request.raw_input_contents[0]

        assert longest_ms(crowded, infer) < LONGEST_MS


def test_neither_do_many_small_messages_in_one_frame(crowded: Runtime) -> None:
    """Each is answered with an error; a ping behind them is answered meanwhile."""
    path = "/inference.GRPCInferenceService/ModelStreamInfer"
    headers = [(name, path if name == ":path" else value) for name, value in HEADERS]
    block = hpack.Encoder().encode(headers)
    messages = b"\0\0\0\0\0" * (2**20 // 5)
    sent = (
        f.PREFACE + f.settings({})
        + f.head(len(block), f.HEADERS, f.END_HEADERS, 1) + block
        + f.head(len(messages), f.DATA, 0, 1) + messages
        + f.ping(b"12345678")
    )  # fmt: skip
    pong = f.ping(b"12345678", ack=True)

    def send() -> None:
        with socket.create_connection(("127.0.0.1", crowded.grpc_port), timeout=30) as peer:
            peer.sendall(sent)
            said = b""
            while pong not in said:
                piece = peer.recv(2**16)
                assert piece, "the connection is closed"
                said += piece

    assert longest_ms(crowded, send) < LONGEST_MS

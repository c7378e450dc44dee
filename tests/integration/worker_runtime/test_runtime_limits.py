"""Clients that want more than they give, on a real runtime: bombs, unread answers, too many."""

import gzip
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import h2.config
import h2.connection
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from tests.support.builtin_models import IDENTITY, place
from tests.support.runtime_process import Runtime, runtime, wait_until

MIB = 1024 * 1024
INFER = "/inference.GRPCInferenceService/ModelInfer"
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
ANY_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("limits") / "models"
    place(root, "echo", IDENTITY)
    return root


@pytest.fixture(scope="module", params=["native", "grpcio"])
def served(request: pytest.FixtureRequest, models: Path) -> Iterator[Runtime]:
    with runtime(models, f"--grpc-frontend={request.param}") as found:
        yield found


def memory_mib(server: Runtime, what: str = "VmHWM") -> int:
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) // 1024


def request(size: int) -> Any:
    found = pb.ModelInferRequest(model_name="echo", raw_input_contents=[bytes(size)])
    found.inputs.add(name="INPUT0", datatype="FP32", shape=[size // 4])
    return found


@pytest.mark.parametrize("coding", [grpc.Compression.Gzip, grpc.Compression.Deflate])
@pytest.mark.parametrize("path", [INFER, STREAM])
def test_a_bomb_is_refused_and_leaves_no_trace(served: Runtime, coding: Any, path: str) -> None:
    """256 MiB of zeros in a quarter of one, as the review sent it through the gateway."""
    before = memory_mib(served)
    bomb = request(256 * MIB - 4096).SerializeToString()
    with grpc.insecure_channel(served.grpc, options=ANY_SIZE, compression=coding) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            if path == INFER:
                channel.unary_unary(path)(bomb, timeout=60)
            else:
                next(channel.stream_stream(path)(iter([bomb]), timeout=60))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "larger than max (67108864)" in caught.value.details()
        plain = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(request(MIB))
        assert plain.raw_output_contents[0] == bytes(MIB)
    assert memory_mib(served) - before < 200  # 64 MiB, twice for a moment


def test_what_is_within_the_limit_is_served(served: Runtime) -> None:
    with grpc.insecure_channel(
        served.grpc, options=ANY_SIZE, compression=grpc.Compression.Gzip
    ) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        answer = stub.ModelInfer(request(60 * MIB))
        assert answer.raw_output_contents[0] == bytes(60 * MIB)
        message = request(MIB)
        answers = stub.ModelStreamInfer(iter([message] * 20))
        assert [len(a.infer_response.raw_output_contents[0]) for a in answers] == [MIB] * 20


def test_the_limit_is_a_flag(models: Path) -> None:
    with runtime(models, "--grpc-max-inflated-size=1000000") as server:
        with grpc.insecure_channel(server.grpc, compression=grpc.Compression.Gzip) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            with pytest.raises(grpc.RpcError, match="--grpc-max-inflated-size"):
                stub.ModelInfer(request(1_000_000))
            assert stub.ModelInfer(request(900_000)).model_name == "echo"


def test_a_bomb_over_http_is_refused_and_leaves_no_trace(served: Runtime) -> None:
    before = memory_mib(served)
    body = gzip.compress(bytes(256 * MIB), 9)
    headers = {"Content-Encoding": "gzip", "Inference-Header-Content-Length": "0"}
    status, _, said = served.call("v2/models/echo/infer", body, headers=headers)
    assert status == 400
    assert b"exceeds the maximum allowed value of 67108864 bytes" in said
    assert memory_mib(served) - before < 200


def test_a_compressed_body_is_answered_behind_those_that_came_before(served: Runtime) -> None:
    """Pipelined: the second request waits though the first is unpacked in a thread."""

    def raw(count: int, *, packed: bool) -> bytes:
        item = {"name": "INPUT0", "datatype": "FP32", "shape": [count], "data": [1] * count}
        body = json.dumps({"inputs": [item], "id": str(count)}).encode()
        body = gzip.compress(body) if packed else body
        coding = "Content-Encoding: gzip\r\n" if packed else ""
        head = f"POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\n{coding}"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    with served.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(raw(200_000, packed=True) + raw(1, packed=False))
        for count in (200_000, 1):
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            headers = dict(iter(lambda: tuple(stream.readline().lower().split(b": ")), (b"\r\n",)))
            answer = json.loads(stream.read(int(headers[b"content-length"])))
            assert (answer["id"], answer["outputs"][0]["shape"]) == (str(count), [count])


def test_stopping_waits_for_answers_that_are_still_read(models: Path) -> None:
    """20 MB to a client over HTTP and to one over gRPC, of whom both read after the signal."""
    size = 20_000_000
    with runtime(models) as server, ExitStack() as open_now:
        plain = open_now.enter_context(server.socket())
        plain.sendall(
            b"POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"
            b"Inference-Header-Content-Length: 0\r\n\r\n" % size
        )
        plain.sendall(bytes(size))
        assert plain.recv(1) == b"H"  # it is being answered
        caller = calling(open_now, server, size)
        wait_until(lambda: started(caller), "an answer over gRPC")
        server.process.terminate()
        wait_until(lambda: "stopping" in server.log.read_text(), "the signal to be heard")
        found: dict[str, bytes] = {}
        readers = [
            threading.Thread(target=lambda: found.update(http=read_all(plain))),
            threading.Thread(target=lambda: found.update(grpc=read_all(caller))),
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(60)
        assert server.process.wait(20) == 0
    assert len(found["http"]) > size
    assert len(found["grpc"]) > size
    assert b"grpc-status\x010" in found["grpc"][-100:]


def calling(stack: ExitStack, server: Runtime, size: int) -> socket.socket:
    """A client whose windows have room for it all, and that does not read."""
    caller = stack.enter_context(
        socket.create_connection(("127.0.0.1", server.grpc_port), timeout=60)
    )
    client = h2.connection.H2Connection(
        h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
    )
    client.initiate_connection()
    client.increment_flow_control_window(2**30)
    stream = client.get_next_available_stream_id()
    client.send_headers(
        stream,
        [
            (":method", "POST"), (":scheme", "http"), (":path", INFER), (":authority", "x"),
            ("te", "trailers"), ("content-type", "application/grpc"),
        ],
    )  # fmt: skip
    client.increment_flow_control_window(2**30, stream)
    message = request(size).SerializeToString()
    body = struct.pack(">BI", 0, len(message)) + message
    caller.sendall(client.data_to_send())
    at = 0
    while at < len(body):
        room = min(client.local_flow_control_window(stream), len(body) - at, 16_384)
        if room:
            client.send_data(stream, body[at : at + room], end_stream=at + room == len(body))
            at += room
            caller.sendall(client.data_to_send())
        else:
            client.receive_data(caller.recv(65_536))
    return caller


def started(caller: socket.socket) -> bool:
    """Looks at the socket without reading: more than the server says of itself is there."""
    return len(caller.recv(4096, socket.MSG_PEEK)) == 4096


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 20), b""))


def test_a_client_that_never_reads_does_not_hold_up_the_exit_for_ever(models: Path) -> None:
    with runtime(models, "--exit-timeout-secs=1") as server, ExitStack() as open_now:
        caller = calling(open_now, server, 20_000_000)
        wait_until(lambda: started(caller), "an answer")
        assert server.stop() == 0


def test_too_many_connections_are_told_so(models: Path) -> None:
    with runtime(models, "--max-connections=20") as server, ExitStack() as open_now:
        for _ in range(18):
            open_now.enter_context(server.socket())
        wait_until(
            lambda: 'shoal_connections{protocol="http"} 18\n' in server.metrics(), "18 connections"
        )
        with grpc.insecure_channel(server.grpc) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            assert stub.ServerLive(pb.ServerLiveRequest()).live
            open_now.enter_context(server.socket())
            wait_until(
                lambda: 'shoal_connections{protocol="http"} 19\n' in server.metrics(), "20 in all"
            )
            with server.socket() as late, late.makefile("rb") as stream:
                assert stream.readline() == b"HTTP/1.1 503 Service Unavailable\r\n"
                assert b'{"error":"too many connections"}' in stream.read()
            with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=30) as late:
                assert read_all(late).endswith(b"\0\0\0\x0btoo many connections")  # its code: calm
            assert stub.ServerLive(pb.ServerLiveRequest()).live  # who is there stays
            said = server.metrics()
        assert 'shoal_refusals_total{protocol="http",reason="too many connections"} 1\n' in said
        assert 'protocol="grpc",reason="too many connections"' in said
        open_now.close()
        wait_until(lambda: server.call("v2/health/live")[0] == 200, "a place")


def test_a_flood_of_settings_costs_the_one_who_sends_it(models: Path) -> None:
    """154 MB of unread SETTINGS took the server from 84 to 730 MiB."""
    with runtime(models) as server:
        before = memory_mib(server, "VmRSS")
        with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=30) as flood:
            flood.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            sent = 0
            with pytest.raises(OSError):
                while sent < 154 * MIB:
                    sent += flood.send(b"\0\0\0\4\0\0\0\0\0" * 10_000)
        assert sent < 20 * MIB  # what the sockets hold
        assert memory_mib(server, "VmRSS") - before < 20
        assert 'reason="too many control frames"} 1\n' in server.metrics()


def test_files_may_be_as_many_as_the_system_lets(models: Path) -> None:
    with runtime(models) as server:
        limits = Path(f"/proc/{server.process.pid}/limits").read_text().splitlines()
        soft, hard = next(line for line in limits if line.startswith("Max open files")).split()[3:5]
        assert int(soft) == min(int(hard), 1024 * 1024)

"""Ways to ask a server for an inference: each lane has one request under way, over one transport.

Requests are made once, as bytes: one that begins at each of the samples and goes on from there. An
answer is the raw bytes of the output, wherever they were left.
"""

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import grpc
import numpy as np

from benchmarks.gpu_catalog import SAMPLES, Model
from benchmarks.gpu_memory import REGIONS, DeviceRegion, HostRegion
from worker_runtime.types.triton_messages import service_pb2 as pb

_SERVICE = "/inference.GRPCInferenceService/"
_CHANNEL = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),  # else all lanes would share one connection
]
_DEADLINE_S = 20.0


class Lane(Protocol):
    def infer(self, first: int) -> None:
        """Ask with the request that begins at this sample.

        Raises OSError, RuntimeError and grpc.RpcError.
        """

    def answer(self) -> bytes:
        """The raw output of the request before."""

    def reset(self) -> None:
        """After a failure: the next request is to find a connection."""

    def close(self) -> None:
        """Nothing is under way any more."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the lanes of one process ask: ``batch`` items a request, from ``samples`` by input."""

    model: Model
    served: str
    batch: int
    output_bytes: int  # of a request
    samples: Mapping[str, np.ndarray]
    http_port: int
    grpc_port: int

    def rows(self, name: str, first: int) -> np.ndarray:
        return self.samples[name][(np.arange(self.batch) + first) % SAMPLES]


def lanes(load: Load, transport: str, count: int) -> list[Lane]:
    """Connected. What they share, they share among themselves."""
    if transport == "http":
        bodies = [_http_request(load, first) for first in range(SAMPLES)]
        return [HttpLane(load, bodies) for _ in range(count)]
    if transport == "grpc":
        messages = [_grpc_request(load, first).SerializeToString() for first in range(SAMPLES)]
        return [GrpcLane(load, messages) for _ in range(count)]
    given = SharedInputs(load, transport)
    return [SharedLane(load, given, number) for number in range(count)]


class HttpLane:
    """HTTP/1.1 with binary tensors, over a socket of its own."""

    def __init__(self, load: Load, requests: list[bytes]) -> None:
        self._address = ("127.0.0.1", load.http_port)
        self._requests = requests
        self._buffer = memoryview(bytearray(load.output_bytes + (1 << 16)))
        self._answer: memoryview = self._buffer[:0]
        self._socket: socket.socket | None = None
        self._connect()

    def _connect(self) -> socket.socket:
        self._socket = socket.create_connection(self._address, timeout=_DEADLINE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def reset(self) -> None:
        self.close()

    def infer(self, first: int) -> None:
        (self._socket or self._connect()).sendall(self._requests[first])
        got, end = 0, -1
        while end < 0:
            got += self._received(got)
            end = bytes(self._buffer[: min(got, 4096)]).find(b"\r\n\r\n")
        head = bytes(self._buffer[:end]).lower()
        length = _number(head, b"\r\ncontent-length:") + end + 4
        while got < length:
            got += self._received(got)
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"the server answered {bytes(self._buffer[: min(got, 500)])!r}")
        start = end + 4 + _number(head, b"inference-header-content-length:")
        self._answer = self._buffer[start:length]

    def _received(self, got: int) -> int:
        assert self._socket is not None
        more = self._socket.recv_into(self._buffer[got:])
        if not more:
            raise RuntimeError("the server closed the connection, or its answer is too long")
        return more

    def answer(self) -> bytes:
        return bytes(self._answer)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class GrpcLane:
    """gRPC on grpcio, with messages that were serialised before."""

    def __init__(self, load: Load, messages: list[bytes]) -> None:
        self._messages = messages
        self._channel = grpc.insecure_channel(f"127.0.0.1:{load.grpc_port}", _CHANNEL)
        self._call = self._channel.unary_unary(_SERVICE + "ModelInfer", None, None)
        self._answer = b""

    def reset(self) -> None:
        """The channel finds its way by itself."""

    def infer(self, first: int) -> None:
        self._answer = self._call(self._messages[first], timeout=_DEADLINE_S)

    def answer(self) -> bytes:
        (raw,) = pb.ModelInferResponse.FromString(self._answer).raw_output_contents
        return bytes(raw)

    def close(self) -> None:
        self._channel.close()


class SharedInputs:
    """The inputs of all requests of a process, in one region each, and who registers regions."""

    def __init__(self, load: Load, transport: str) -> None:
        self.kind = REGIONS[transport]
        self._channel = grpc.insecure_channel(f"127.0.0.1:{load.grpc_port}", _CHANNEL)
        self.regions: dict[str, HostRegion | DeviceRegion] = {}
        self._open = 0  # lanes
        for item in load.model.inputs:
            # why a batch beyond the samples: each request is one piece, wherever it begins
            rows = (np.arange(SAMPLES + load.batch)) % SAMPLES
            data = load.samples[item.name][rows].tobytes()
            self.regions[item.name] = self.made(item.name, len(data))
            self.regions[item.name].write(data)

    def made(self, name: str, byte_size: int) -> HostRegion | DeviceRegion:
        self._open += 1
        region = self.kind(f"shoal_bench_{os.getpid()}_{name}", byte_size)
        region.register(self._call)
        return region

    def left(self, region: HostRegion | DeviceRegion) -> None:
        """A lane's; the last one takes the inputs along."""
        self._close(region)
        if self._open == len(self.regions):
            for mine in self.regions.values():
                self._close(mine)
            self._channel.close()

    def _close(self, region: HostRegion | DeviceRegion) -> None:
        self._open -= 1
        region.unregister(self._call)
        region.close()

    def _call(self, method: str, message: Any) -> object:
        call = self._channel.unary_unary(_SERVICE + method, type(message).SerializeToString, None)
        return call(message, timeout=_DEADLINE_S)


class SharedLane(GrpcLane):
    """gRPC that only names where tensors lie; outputs go to a region of the lane's own."""

    def __init__(self, load: Load, given: SharedInputs, number: int) -> None:
        self._given = given
        self._size = load.output_bytes
        self._region = given.made(f"{load.model.output.name}_{number}", load.output_bytes)
        super().__init__(load, [self._message(load, first) for first in range(SAMPLES)])

    def _message(self, load: Load, first: int) -> bytes:
        message = pb.ModelInferRequest(model_name=load.served)
        for item in load.model.inputs:
            shape = (load.batch, *item.shape)
            entry = message.inputs.add(name=item.name, datatype=item.datatype, shape=shape)
            size = load.samples[item.name][0].nbytes
            _in_region(entry, self._given.regions[item.name].name, size * load.batch, size * first)
        entry = message.outputs.add(name=load.model.output.name)
        _in_region(entry, self._region.name, load.output_bytes, 0)
        raw: bytes = message.SerializeToString()
        return raw

    def answer(self) -> bytes:
        return self._region.read(self._size)

    def close(self) -> None:
        super().close()
        self._given.left(self._region)


def _in_region(tensor: Any, region: str, byte_size: int, offset: int) -> None:
    tensor.parameters["shared_memory_region"].string_param = region
    tensor.parameters["shared_memory_byte_size"].int64_param = byte_size
    if offset:
        tensor.parameters["shared_memory_offset"].int64_param = offset


def _grpc_request(load: Load, first: int) -> Any:
    message = pb.ModelInferRequest(model_name=load.served)
    for item in load.model.inputs:
        rows = load.rows(item.name, first)
        message.inputs.add(name=item.name, datatype=item.datatype, shape=rows.shape)
        message.raw_input_contents.append(rows.tobytes())
    return message


def _http_request(load: Load, first: int) -> bytes:
    entries, parts = [], []
    for item in load.model.inputs:
        rows = load.rows(item.name, first)
        parts.append(rows.tobytes())
        entries.append(
            {
                "name": item.name, "datatype": item.datatype, "shape": rows.shape,
                "parameters": {"binary_data_size": rows.nbytes},
            }
        )  # fmt: skip
    wanted = [{"name": load.model.output.name, "parameters": {"binary_data": True}}]
    text = json.dumps({"inputs": entries, "outputs": wanted}).encode()
    body = b"".join([text, *parts])
    head = (
        f"POST /v2/models/{load.served}/infer HTTP/1.1\r\nHost: 127.0.0.1:{load.http_port}\r\n"
        f"Inference-Header-Content-Length: {len(text)}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _number(head: bytes, name: bytes) -> int:
    _, found, rest = head.partition(name)
    if not found:
        raise RuntimeError(f"an answer without {name.decode().strip()} {head[:500]!r}")
    return int(rest.split(b"\r\n")[0])

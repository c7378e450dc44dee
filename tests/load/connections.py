"""Thousands of clients in one event loop: the least HTTP and gRPC that can tell answers apart."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import hpack
import numpy as np
from tritonclient.grpc import service_pb2 as pb

from tests.support.http2_peer import framed
from worker_runtime.protocols.grpc.native import frames as h2

LOOPBACK = "127.0.0.1"
OK = "ok"

Outcomes = Counter[str]
Load = Callable[[int, str, int, int], Awaitable[Outcomes]]


class HttpClient(asyncio.Protocol):
    """Sends its requests one after another; ``outcomes`` counts what came back."""

    def __init__(self, model: str, numbers: list[int], outcomes: Outcomes) -> None:
        self._model = model
        self._numbers = numbers
        self._outcomes = outcomes
        self._buffer = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment] # TCP
        self._next()

    def _next(self) -> None:
        if not self._numbers:
            self._transport.close()
            self.done.set_result(None)
            return
        number = self._numbers[-1]
        body = json.dumps(
            {
                "id": str(number),
                "inputs": [
                    {"name": "INPUT0", "datatype": "FP32", "shape": [1, 4], "data": [number] * 4}
                ],
            }
        )
        self._transport.write(
            f"POST /v2/models/{self._model}/infer HTTP/1.1\r\nHost: x\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        if len(rest) < size:
            return
        self._buffer = rest[size:]
        self._outcomes[self._judged(int(head[9:12]), json.loads(rest[:size]))] += 1
        self._next()

    def _judged(self, status: int, answer: dict[str, object]) -> str:
        number = self._numbers.pop()
        if status != 200:
            return f"{status} {answer['error']}"
        (output,) = answer["outputs"]  # type: ignore[misc] # JSON
        right = answer["id"] == str(number) and output["data"] == [number] * 4
        return OK if right else f"somebody else's answer: {answer}"

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self._outcomes[f"connection lost: {exc}"] += len(self._numbers)
            self.done.set_result(None)


_BLOCKS = {
    path: hpack.Encoder().encode(
        [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", f"/inference.GRPCInferenceService/{path}"),
            (":authority", "x"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        ]
    )
    for path in ("ModelInfer",)
}


class GrpcClient(asyncio.Protocol):
    """Sends all its requests at once, each a stream of its own."""

    def __init__(self, model: str, numbers: list[int], outcomes: Outcomes) -> None:
        self._model = model
        self._left = dict(zip(range(1, 2 * len(numbers), 2), numbers, strict=True))
        self._outcomes = outcomes
        self._buffer = b""
        self._decoder = hpack.Decoder()
        self._data: dict[int, bytes] = {}
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment] # TCP
        window = h2.window_update(0, 2**30)
        parts = [h2.PREFACE, h2.settings({h2.INITIAL_WINDOW_SIZE: 2**20}), window]
        block = _BLOCKS["ModelInfer"]
        for stream, number in self._left.items():
            message = pb.ModelInferRequest(model_name=self._model, id=str(number))
            message.inputs.add(name="INPUT0", datatype="FP32", shape=[1, 4])
            message.raw_input_contents.append(np.full(4, number, np.float32).tobytes())
            payload = framed(message.SerializeToString())
            parts.append(h2.head(len(block), h2.HEADERS, h2.END_HEADERS, stream) + block)
            parts.append(h2.head(len(payload), h2.DATA, h2.END_STREAM, stream) + payload)
        transport.writelines(parts)  # type: ignore[attr-defined] # TCP

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        at = 0
        while len(self._buffer) - at >= h2.HEAD_BYTES:
            high, low, kind, flags, stream = h2.HEAD.unpack_from(self._buffer, at)
            size = high << 8 | low
            if len(self._buffer) - at - h2.HEAD_BYTES < size:
                break
            at += h2.HEAD_BYTES + size
            self._frame(kind, flags, stream, self._buffer[at - size : at])
        self._buffer = self._buffer[at:]

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == h2.SETTINGS and not flags & h2.ACK:
            self._transport.write(h2.SETTINGS_ACK)
        elif kind == h2.DATA:
            self._data[stream] = self._data.get(stream, b"") + payload
        elif kind == h2.HEADERS:
            headers = dict(self._decoder.decode(payload))
            if flags & h2.END_STREAM:
                self._ended(stream, headers)
        elif kind == h2.RST_STREAM and stream in self._left:
            self._ended(stream, {"grpc-status": "reset"})

    def _ended(self, stream: int, headers: dict[str, str]) -> None:
        number = self._left.pop(stream)
        status = headers.get("grpc-status")
        if status == "0":
            answer = pb.ModelInferResponse.FromString(self._data.pop(stream, b"")[5:])
            values = np.frombuffer(answer.raw_output_contents[0], np.float32).tolist()
            right = answer.id == str(number) and values == [number] * 4
            self._outcomes[OK if right else f"somebody else's answer: {answer}"] += 1
        else:
            self._outcomes[f"{status} {headers.get('grpc-message')}"] += 1
        if not self._left:
            self._transport.close()
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self._outcomes[f"connection lost: {exc}"] += len(self._left)
            self.done.set_result(None)


CLIENTS: dict[str, type[HttpClient] | type[GrpcClient]] = {"http": HttpClient, "grpc": GrpcClient}


async def load(
    protocol: str, port: int, model: str, connections: int, each: int, first: int = 0
) -> Outcomes:
    """``each`` requests on each of so many connections, every one with a number of its own."""
    loop = asyncio.get_running_loop()
    outcomes: Outcomes = Counter()
    clients = []
    for index in range(connections):
        start = first + index * each
        client = CLIENTS[protocol](model, list(range(start, start + each)), outcomes)
        clients.append(client)
        await loop.create_connection(lambda client=client: client, LOOPBACK, port)  # type: ignore[misc]
    await asyncio.wait_for(asyncio.gather(*(client.done for client in clients)), 120)
    return outcomes


def usage(pid: int) -> dict[str, int]:
    """``mib`` in memory, open ``descriptors``, ``threads`` and ``children`` of a process."""
    folder = Path("/proc") / str(pid)
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    children = [
        child
        for thread in (folder / "task").glob("*/children")
        for child in thread.read_text().split()
    ]
    return {
        "mib": int(status["VmRSS"].split()[0]) // 1024,
        "descriptors": len(list((folder / "fd").iterdir())),
        "threads": int(status["Threads"]),
        "children": len(children),
    }

"""What loads the gateway: small inferences over connections that stay open, closed loop.

One thread, prepared bytes, so that on few cores Envoy has most of one for itself. HTTP: as many
connections as requests under way. gRPC: one connection with as many streams; after the first
request each header block is a row of indexes into HPACK's table, as with any client that lives for
a while.
"""

import socket
import ssl
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from select import EPOLLIN, epoll

import hpack

from benchmarks.generator import grpc_request, http_body
from benchmarks.load import LoadFailed
from benchmarks.workloads import WORKLOADS, Protocol
from worker_runtime.protocols.grpc.native import frames as h2

UNDER_WAY = 8
_WORKLOAD = WORKLOADS[0]
_READ = 1 << 18
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. ``ca``: who signed the certificate; None for plain connections."""

    port: int
    protocol: Protocol
    ca: Path | None
    path: str  # of HTTP
    headers: tuple[tuple[str, str], ...]


class Load(ABC):
    """Open connections, and what is asked on them again and again."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._poll = epoll()
        self._sockets: dict[int, socket.socket] = {}
        self.answered = 0

    def run(self, seconds: float) -> int:
        """How many requests were answered. Raises LoadFailed for one that failed."""
        before, end = self.answered, time.perf_counter() + seconds
        self._begin()
        while time.perf_counter() < end:
            self._turn(again=True)
        while self._under_way():
            self._turn(again=False)
        return self.answered - before

    def close(self) -> None:
        for connection in self._sockets.values():
            connection.close()
        self._poll.close()

    def _turn(self, *, again: bool) -> None:
        ready = self._poll.poll(_PATIENCE_S)
        if not ready:
            raise LoadFailed(f"no answer over {self._target.protocol} in {_PATIENCE_S:.0f} s")
        for number, _ in ready:
            self._read(number, _received(self._sockets[number]), again=again)

    def _connected(self) -> int:
        """A connection's number. TLS is shaken hands over already."""
        raw = socket.create_connection(("127.0.0.1", self._target.port), timeout=_PATIENCE_S)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = raw
        if self._target.ca is not None:
            context = ssl.create_default_context(cafile=self._target.ca)
            context.set_alpn_protocols(["h2" if self._target.protocol == "grpc" else "http/1.1"])
            connection = context.wrap_socket(raw, server_hostname="localhost")
        connection.setblocking(False)
        self._sockets[connection.fileno()] = connection
        self._poll.register(connection, EPOLLIN)
        return connection.fileno()

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _under_way(self) -> bool: ...

    @abstractmethod
    def _read(self, number: int, data: bytes, *, again: bool) -> None: ...


class HttpLoad(Load):
    """One connection per request under way."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        body, json_size = http_body(_WORKLOAD)
        headers = (
            ("Host", "localhost"),
            ("User-Agent", "benchmark"),
            ("Accept-Encoding", "identity"),
            ("Content-Type", "application/octet-stream"),
            ("Inference-Header-Content-Length", str(json_size)),
            ("Content-Length", str(len(body))),
            *target.headers,
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        self._request = f"POST {target.path} HTTP/1.1\r\n{lines}\r\n".encode() + body
        self._waiting: dict[int, bytes] = {}
        for _ in range(UNDER_WAY):
            self._connected()

    def _begin(self) -> None:
        for number, connection in self._sockets.items():
            self._waiting[number] = b""
            connection.send(self._request)

    def _under_way(self) -> bool:
        return bool(self._waiting)

    def _read(self, number: int, data: bytes, *, again: bool) -> None:
        data = self._waiting[number] + data
        if not _whole(data):
            self._waiting[number] = data
            return
        self.answered += 1
        if again:
            self._waiting[number] = b""
            self._sockets[number].send(self._request)
        else:
            del self._waiting[number]


class GrpcLoad(Load):
    """One connection, ``UNDER_WAY`` streams at a time."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        message = grpc_request(_WORKLOAD)
        self._body = bytes(1) + len(message).to_bytes(4, "big") + message
        encoder = hpack.Encoder()
        headers = [
            (":method", "POST"),
            (":scheme", "http" if target.ca is None else "https"),
            (":path", "/inference.GRPCInferenceService/ModelInfer"),
            (":authority", "localhost"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", "grpc-python/1.0"),
            ("grpc-accept-encoding", "identity, deflate, gzip"),
            *target.headers,
        ]
        self._blocks = [encoder.encode(headers) for _ in range(2)]
        self._stream = 1
        self._open: dict[int, int] = {}  # stream -> bytes of its answer
        self._answer_bytes = 0
        self._rest = b""
        self._decoder = hpack.Decoder()
        self._number = self._connected()
        wide = {h2.INITIAL_WINDOW_SIZE: h2.MAX_WINDOW, h2.HEADER_TABLE_SIZE: 4096}
        more = h2.window_update(0, h2.MAX_WINDOW - h2.DEFAULT_WINDOW)
        self._sockets[self._number].send(h2.PREFACE + h2.settings(wide) + more)

    def _begin(self) -> None:
        for _ in range(UNDER_WAY):
            self._sockets[self._number].send(self._asked())

    def _under_way(self) -> bool:
        return bool(self._open)

    def _read(self, number: int, data: bytes, *, again: bool) -> None:
        data, at, answers = self._rest + data, 0, bytearray()
        while len(data) - at >= h2.HEAD_BYTES:
            high, low, kind, flags, stream = h2.HEAD.unpack_from(data, at)
            end = at + h2.HEAD_BYTES + (high << 8 | low)
            if end > len(data):
                break
            if kind == h2.DATA:
                self._open[stream] += end - at - h2.HEAD_BYTES
            elif kind == h2.SETTINGS and not flags & h2.ACK:
                answers += h2.SETTINGS_ACK
            elif kind in (h2.GOAWAY, h2.RST_STREAM):
                raise LoadFailed(f"frame {kind} from the gateway: {data[at:end]!r}")
            if flags & h2.END_STREAM and kind in (h2.DATA, h2.HEADERS):
                self._ended(stream)
                if again:
                    answers += self._asked()
            at = end
        self._rest = data[at:]
        if answers:
            self._sockets[number].send(answers)

    def _ended(self, stream: int) -> None:
        """One that fails has no message: all others have one of the same size."""
        size = self._open.pop(stream)
        self._answer_bytes = self._answer_bytes or size
        if not size or size != self._answer_bytes:
            raise LoadFailed(f"an answer of {size} bytes, others have {self._answer_bytes}")
        self.answered += 1

    def _asked(self) -> bytes:
        stream, block = self._stream, self._blocks[self._stream > 1]
        self._stream += 2
        self._open[stream] = 0
        return (
            h2.head(len(block), h2.HEADERS, h2.END_HEADERS, stream)
            + block
            + h2.head(len(self._body), h2.DATA, h2.END_STREAM, stream)
            + self._body
        )


LOADS: dict[Protocol, type[HttpLoad | GrpcLoad]] = {"http": HttpLoad, "grpc": GrpcLoad}


def _received(connection: socket.socket) -> bytes:
    """All that is there. Raises LoadFailed when the other end is done."""
    data = b""
    while True:
        try:
            more = connection.recv(_READ)
        except (BlockingIOError, ssl.SSLWantReadError):
            return data
        if not more:
            raise LoadFailed("the gateway closed a connection")
        data += more
        if not isinstance(connection, ssl.SSLSocket):
            return data


def _whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = answer[:end].lower()
    if not head.startswith(b"http/1.1 200"):
        raise LoadFailed(f"the gateway answered {answer[:500]!r}")
    length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
    return len(answer) >= end + 4 + length

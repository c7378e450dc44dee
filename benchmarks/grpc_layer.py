"""What our HTTP/2 and gRPC cost per small unary call, without sockets, engine and model.

One connection is given the bytes of many calls and a transport that keeps nothing; a call is
answered with its own message after its bytes were read, as a batch does it. The least of many
rounds is told: it is what the code takes where nobody is in its way.
"""

import asyncio
import gc
import sys
from time import process_time_ns
from typing import Any

import hpack

from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.native.call import Call
from worker_runtime.protocols.grpc.native.connection import Connection
from worker_runtime.protocols.grpc.native.messages import framed
from worker_runtime.types.listening import ConnectionLimits, GrpcOptions

_CALLS, _ROUNDS = 2000, 200
_MESSAGE = bytes(130)  # about that of 16 numbers of FP32
_PATH = "/inference.GRPCInferenceService/ModelInfer"
_HEADERS = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", _PATH),
    (":authority", "localhost:8001"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
    ("user-agent", "grpc-python/1.0"),
]


class _Transport:
    def __init__(self) -> None:
        self.written = 0

    def write(self, data: bytes) -> None:
        self.written += len(data)

    def is_closing(self) -> bool:
        return False


class _Server:
    """The owner of a connection, its service, and the handler of every call."""

    compressed = frozenset[str]()

    def __init__(self) -> None:
        self.service = self
        self.options = GrpcOptions()
        self.admission = ConnectionAdmission(ConnectionLimits(), Refusals())
        self.calls: list[Call] = []
        self.messages: list[bytes] = []

    def joined(self, connection: Connection) -> None: ...

    def left(self, connection: Connection) -> None: ...

    def open(self, call: Call) -> "_Server":
        self.calls.append(call)
        return self

    def message(self, data: bytes) -> None:
        self.messages.append(data)

    def half_close(self) -> None: ...

    def cancel(self) -> None: ...

    def drained(self) -> None: ...

    def answer(self) -> None:
        for call, message in zip(self.calls, self.messages, strict=True):
            call.answer([message], len(message))
        self.calls.clear()
        self.messages.clear()


def _calls() -> list[bytes]:
    """The bytes of each call, and of the window that its client gives back for the answer."""
    encoder, body = hpack.Encoder(), b"".join(framed([_MESSAGE], len(_MESSAGE)))
    found = []
    for stream in range(1, 2 * _CALLS, 2):
        block = encoder.encode(_HEADERS)
        found.append(
            h2.head(len(block), h2.HEADERS, h2.END_HEADERS, stream)
            + block
            + h2.head(len(body), h2.DATA, h2.END_STREAM, stream)
            + body
            + h2.window_update(0, len(body))
        )
    return found


def _round(calls: list[bytes]) -> float:
    """Microseconds of CPU per call."""
    server, transport = _Server(), _Transport()
    connection = Connection(server)
    # why Any: it is a transport as far as a connection asks for one here.
    made: Any = transport
    connection.connection_made(made)
    connection.data_received(h2.PREFACE + h2.settings({}))
    before = transport.written
    gc.collect()
    gc.disable()
    start = process_time_ns()
    for data in calls:
        connection.data_received(data)
        server.answer()
    took = process_time_ns() - start
    gc.enable()
    if transport.written - before < _CALLS * len(_MESSAGE):
        raise RuntimeError("Not every call was answered.")
    connection.connection_lost(None)
    return took / 1000 / _CALLS


async def main() -> int:
    calls = _calls()
    print(f"{min(_round(calls) for _ in range(_ROUNDS)):.2f} µs of CPU per call")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

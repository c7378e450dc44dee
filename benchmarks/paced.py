"""Small calls at a fixed rate: python -m benchmarks.paced PORT RATE SECONDS, latencies to stdout.

A request is sent when it is due, on any connection that is free; one that none is free for waits,
and its latency counts from when it was due: a server that stalls does not slow down who asks.
"""

import select
import socket
import sys
import time
from collections import deque

import numpy as np

_CONNECTIONS = 64
_BODY = b"".join(np.arange(16, dtype=np.int32).tobytes() for _ in range(2))
_JSON = (
    b'{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":'
    b'{"binary_data_size":64}},{"name":"INPUT1","datatype":"INT32","shape":[1,16],"parameters":'
    b'{"binary_data_size":64}}],"parameters":{"binary_data_output":true}}'
)
_HEAD = (
    "POST /v2/models/m0/infer HTTP/1.1\r\nHost: bench\r\nContent-Type: application/octet-stream\r\n"
    f"Inference-Header-Content-Length: {len(_JSON)}\r\n"
    f"Content-Length: {len(_JSON) + len(_BODY)}\r\n\r\n"
)
_REQUEST = _HEAD.encode() + _JSON + _BODY


def latencies_us(port: int, rate: float, seconds: float) -> list[float]:
    """Of every request that was due in time. Raises RuntimeError for an answer that is not 200."""
    poller = select.epoll()
    sockets = {}
    for _ in range(_CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[connection.fileno()] = connection
        poller.register(connection, select.EPOLLIN)
    free = deque(sockets)
    due_at: dict[int, float] = {}
    found: list[float] = []
    begun, sent, total = time.perf_counter(), 0, int(rate * seconds)
    while len(found) < total:
        now = time.perf_counter()
        while free and sent < total and (due := begun + sent / rate) <= now:
            number = free.popleft()
            due_at[number] = due
            sockets[number].send(_REQUEST)
            sent += 1
        # why at least a little: a client that spins takes a core from the server.
        wait = max(0.0002, begun + sent / rate - now) if free and sent < total else 1.0
        for number, _ in poller.poll(wait):
            answer = sockets[number].recv(65536)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"{answer[:300]!r}")
            found.append((time.perf_counter() - due_at.pop(number)) * 1e6)
            free.append(number)
    return found


if __name__ == "__main__":
    times = latencies_us(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
    sys.stdout.buffer.write(np.array(times, np.float64).tobytes())

"""Our own load generator, for machines without perf_analyzer: python -m benchmarks.generator JOB.

HTTP: one thread, non-blocking sockets, one prepared request. gRPC: one thread per request under way
on grpcio, which costs more than most servers; read the server's CPU, not the throughput.
"""

import json
import selectors
import socket
import sys
import threading
import time
from typing import Any

import numpy as np

from benchmarks.repository import sample
from benchmarks.workloads import WORKLOADS, Workload


def http_body(workload: Workload) -> tuple[bytes, int]:
    """A binary request, and the length of its JSON part."""
    import tritonclient.http as triton  # noqa: PLC0415  # why: the gRPC side must not load it

    inputs = []
    for tensor, array in zip(workload.inputs, sample(workload, 1).values(), strict=True):
        entry = triton.InferInput(tensor.name, list(array.shape), tensor.datatype)
        inputs.append(entry.set_data_from_numpy(array))
    body, size = triton.InferenceServerClient.generate_request_body(inputs)
    return body, size


def drive_http(
    workload: Workload, address: str, concurrency: int, seconds: float
) -> tuple[list[int], float]:
    """Latencies in nanoseconds, and the seconds they took. Raises RuntimeError for any non-200."""
    host, _, port = address.partition(":")
    body, json_size = http_body(workload)
    head = (
        f"POST /v2/models/{workload.model}/infer HTTP/1.1\r\nHost: {address}\r\n"
        f"Inference-Header-Content-Length: {json_size}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    latencies: list[int] = []
    selector = selectors.DefaultSelector()
    started = time.perf_counter()
    for _ in range(concurrency):
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ, [time.perf_counter_ns(), b"", 0])
        connection.sendall(request)
    under_way = concurrency
    while under_way:  # why: a request cut off at the end would count as a failure of the server
        for key, _ in selector.select(timeout=10):
            connection, state = key.fileobj, key.data
            assert isinstance(connection, socket.socket)
            state[1] += connection.recv(1 << 20)
            if not state[2]:
                state[2] = _answer_length(state[1])
            if state[2] and len(state[1]) >= state[2]:
                now = time.perf_counter_ns()
                latencies.append(now - state[0])
                state[:] = [now, b"", 0]
                if time.perf_counter() - started < seconds:
                    connection.sendall(request)
                else:
                    under_way -= 1
    elapsed = time.perf_counter() - started
    for key in list(selector.get_map().values()):
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.close()
    return latencies, elapsed


def _answer_length(data: bytes) -> int:
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return 0
    head = data[:end].lower()
    if not head.startswith(b"http/1.1 200"):
        raise RuntimeError(f"the server answered {data[:500]!r}")
    length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
    return end + 4 + length


def grpc_request(workload: Workload) -> bytes:
    from tritonclient.grpc import service_pb2  # noqa: PLC0415

    message = service_pb2.ModelInferRequest(model_name=workload.model)
    for tensor, array in zip(workload.inputs, sample(workload, 1).values(), strict=True):
        entry = message.inputs.add(name=tensor.name, datatype=tensor.datatype)
        entry.shape.extend(array.shape)
        message.raw_input_contents.append(array.tobytes())
    raw: bytes = message.SerializeToString()
    return raw


def drive_grpc(
    workload: Workload, address: str, concurrency: int, seconds: float
) -> tuple[list[int], float]:
    import grpc  # noqa: PLC0415  # why: the HTTP side must not load it

    request = grpc_request(workload)
    latencies: list[list[int]] = [[] for _ in range(concurrency)]
    started = time.perf_counter()

    def loop(mine: list[int]) -> None:
        with grpc.insecure_channel(address) as channel:
            infer = channel.unary_unary(
                "/inference.GRPCInferenceService/ModelInfer",
                request_serializer=None,
                response_deserializer=None,
            )
            while time.perf_counter() - started < seconds:
                sent = time.perf_counter_ns()
                infer(request)
                mine.append(time.perf_counter_ns() - sent)

    threads = [threading.Thread(target=loop, args=(mine,)) for mine in latencies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [value for mine in latencies for value in mine], time.perf_counter() - started


def main(job: dict[str, Any]) -> None:
    workload = next(item for item in WORKLOADS if item.key == job["key"])
    run = drive_http if job["protocol"] == "http" else drive_grpc
    latencies, elapsed = run(workload, job["address"], job["concurrency"], job["seconds"])
    if not latencies:
        raise SystemExit("no request was answered")
    p50, p99 = np.percentile(latencies, [50, 99]) / 1000
    print(json.dumps({"per_second": len(latencies) / elapsed, "p50_us": p50, "p99_us": p99}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

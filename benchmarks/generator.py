"""Our own load generator, for machines without perf_analyzer: python -m benchmarks.generator JOB.

HTTP: the product's load client. gRPC: one thread per request under way on grpcio, which costs more
than most servers; read the server's CPU, not the throughput.
"""

import json
import sys
import threading
import time
from typing import Any

import numpy as np

from benchmarks.repository import sample
from benchmarks.workloads import WORKLOADS, Workload
from load_client.driving import Driver
from load_client.targets import target_of


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
    body, json_size = http_body(workload)
    head = (
        f"POST /v2/models/{workload.model}/infer HTTP/1.1\r\nHost: {address}\r\n"
        f"Inference-Header-Content-Length: {json_size}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    driver = Driver(target_of(address).connect, head.encode() + body, timeout_s=60.0)
    seen = driver.concurrency(concurrency, seconds)
    driver.close()
    if seen.errors:
        raise RuntimeError(f"the server answered {dict(seen.errors)} {seen.said}")
    return [int(1e9 * latency) for latency in seen.latencies], seen.elapsed_s


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

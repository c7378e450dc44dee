"""Small calls at a fixed rate: python -m benchmarks.paced PORT RATE SECONDS, latencies to stdout.

A request is sent when it is due, on any connection that is free; one that none is free for waits,
and its latency counts from when it was due: a server that stalls does not slow down who asks.
"""

import sys

import numpy as np

from load_client.driving import Driver
from load_client.targets import target_of

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
    driver = Driver(target_of(f"127.0.0.1:{port}").connect, _REQUEST, timeout_s=60.0)
    seen = driver.rate(rate, seconds)
    driver.close()
    if seen.errors:
        raise RuntimeError(f"{dict(seen.errors)} {seen.said}")
    return [1e6 * latency for latency in seen.latencies]


if __name__ == "__main__":
    times = latencies_us(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
    sys.stdout.buffer.write(np.array(times, np.float64).tobytes())

"""What an honest agent sends, and lies that were found before: seeds of ``agent_messages``."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from wire import codec
from wire.messages import (
    CachedBlob,
    CacheReport,
    GpuInfo,
    NodeInfo,
    NodeReport,
    ObservedReplica,
    Problem,
    RegisterRequest,
    SpoiledBlob,
)
from wire.samples import LogBatch, LogEntry, ModelCounters, ReplicaSample, SampleBatch

LIAR, AWAY, HONEST, TOKEN = "liar", "198.51.100.1", "198.51.100.2", b"JOIN-TOKEN"
RESOURCES: tuple[tuple[str, type[Any]], ...] = (
    ("report", NodeReport),
    ("samples", SampleBatch),
    ("logs", LogBatch),
    ("cache", CacheReport),
    ("register", RegisterRequest),
)
NODE = NodeInfo(
    LIAR, "test", boot_id=LIAR, address=AWAY, cpu_count=4, memory_total_bytes=2**34,
    backends=("onnxruntime",), gpus=(GpuInfo(0, "GPU-1", "H100", 2**36, temperature_c=40.0),),
    sandbox={"files": True}, labels={"zone": "a"}, cache_idle_bytes=0,
)  # fmt: skip
REPLICA = ObservedReplica(
    "good", 1, "ready", address=AWAY, http_port=9001, grpc_port=9002, metrics_port=9003, pid=7,
    configs={"digits": {"name": "digits", "input": [{"dims": ["-1"]}]}}, log="line\n",
)  # fmt: skip
FAILED = replace(
    REPLICA, replica_id="bad", state="failed", http_port=0, grpc_port=0, metrics_port=0,
    error=Problem("GpuMemoryExhausted", "no room", detail="a\nb", hints=("wait",)),
    gpu_needed_bytes=2**30,
)  # fmt: skip
COUNTERS = ModelCounters(
    "digits", "1", 5.0, request_failure={"OTHER": 1.0}, batch_counts={"8": 2.0},
    batch_compute_us={"8": 90.0}, first_response={"5": 1.0},
)  # fmt: skip
SHA256 = "ab" * 32
ADDRESSES = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "169.254.169.254", "fe80::1%eth0",
             f"::ffff:{AWAY}", HONEST, f"{AWAY}\x1b[2J", "1" * 3000, "")  # fmt: skip


def _messages() -> Iterator[object]:
    yield NodeReport(NODE, 1, (REPLICA, FAILED), sent_at=1.7e9)
    for state in ("pending", "draining", "stopped", "odd"):
        yield NodeReport(NODE, 0, (replace(REPLICA, state=state), replace(FAILED, state=state)))
    for address in ADDRESSES:
        yield NodeReport(replace(NODE, address=address), 1, (REPLICA,))
        yield NodeReport(NODE, 1, (replace(REPLICA, address=address),))
    for port in (-1, 0, 65_536, 2**60):
        yield NodeReport(NODE, 1, (replace(REPLICA, http_port=port),))
    yield SampleBatch(
        (ReplicaSample("good", "digits", "good", 1.7e9, (COUNTERS,), started_at=1.6e9),), NODE
    )
    yield LogBatch((LogEntry("good", "digits", "good", 1.7e9, "inference-server", "a\x1b[2Jb\n"),))
    yield CacheReport((CachedBlob(SHA256, 5, 1.7e9, True),), (SpoiledBlob(SHA256, 5, 1.7e9),))
    for name in ("new", LIAR, "honest", " ", "..", "a/b", "\u202e"):
        yield RegisterRequest(TOKEN.decode(), replace(NODE, name=name, folder_id="f"))


def seeds() -> Iterator[bytes]:
    numbers = {kind: number for number, (_, kind) in enumerate(RESOURCES)}
    for message in _messages():
        first = bytes([numbers[type(message)]])
        yield first + codec.encode(message)
        yield first + json.dumps(asdict(message), ensure_ascii=False).encode()  # type: ignore[call-overload]


DICTIONARY = [
    "\\u0000", "\\ud800", "\\u001b[2J", "\\u202e", "NaN", "1e999", "-1", "9223372036854775807",
    "9223372036854775808", "65536", "null", "true", "{}", "[]", '"ready"', '"failed"', '"good"',
    '"bad"', '"digits"', AWAY, HONEST, "127.0.0.1", "::1", SHA256, TOKEN.decode(),
    *(f'"{name}":' for kind in (NodeInfo, ObservedReplica, ModelCounters, LogEntry, Problem)
      for name in kind.__dataclass_fields__),
]  # fmt: skip

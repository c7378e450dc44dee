"""What a Python model's process costs per batch: an echo model, beside a bare copy of its tensor.

The instance is called as the runtime calls it, without a front end: what is measured is the way
to the process and back, with 1 KB and with 600 KB of FP32. Then a whole server is asked over HTTP.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generator import drive_http
from benchmarks.host import process_cpu_s
from benchmarks.server import running
from benchmarks.workloads import Drive, Tensor, Workload
from worker_runtime.backends.base import (
    Array,
    LoadSpec,
    ModelCall,
    ModelMetrics,
    Placement,
    RequestTrace,
)
from worker_runtime.backends.python.backend import PythonBackend
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.request import ParameterValue, Response, SequencePart

SIZES = (1024, 600_000)  # bytes
TARGET_US = 60.0  # per batch of SIZES[0]
UNDER_WAY = 8
SERVED_US = 80.0  # CPU of the server and the model per request of SIZES[0] over HTTP
_WARM_UP, _CHUNK_S = 200, 0.25

_CONFIG = """
name: "echo" backend: "python" max_batch_size: 8
input { name: "IN" data_type: TYPE_FP32 dims: [-1] }
output { name: "OUT" data_type: TYPE_FP32 dims: [-1] }
"""
_MODEL = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("OUT", pb_utils.get_input_tensor_by_name(r, "IN").as_numpy())]
            )
            for r in requests
        ]
"""


_ECHO = Workload(
    key="ECHO",
    title="a Python model that gives back what it gets",
    inputs=(Tensor("IN", "FP32", (SIZES[0] // 4,)),),
    outputs=(("OUT", "FP32", (SIZES[0] // 4,)),),
    drives=(Drive("http", UNDER_WAY),),
    batches=(1,),
    max_batch_size=8,
    dynamic_batching=False,
    instance_per_core=False,
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds per batch; ``copy_us`` is one copy of the tensor in memory."""

    byte_size: int
    p50_us: float
    p90_us: float
    server_cpu_us: float
    model_cpu_us: float
    copy_us: float


@dataclass(slots=True)
class _Request:
    """A ``BackendRequest`` that keeps nothing but its last answer."""

    inputs: Mapping[str, Array]
    id: str = ""
    outputs: tuple[str, ...] = ("OUT",)
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    sequence: SequencePart | None = None
    timeout_ns: int = 0
    priority: int = 0
    cancelled: bool = False
    trace: RequestTrace | None = None
    answer: Response | None = None

    def send(self, response: Response | None, **_marks: Any) -> None:
        self.answer = response

    def skip(self, *, started_ns: int = 0) -> None: ...

    def detach(self) -> None: ...

    def reschedule(self) -> None: ...


class _Host:
    """No server around the model, which calls nobody: whoever does is told so."""

    metrics: ModelMetrics

    def infer(self, call: ModelCall, answer: Any) -> Callable[[], None]:
        raise NotImplementedError(call.model)

    def model_ready(self, name: str, version: str) -> bool:
        raise NotImplementedError(f"{name} {version}")

    def load_model(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        raise NotImplementedError(f"{name} {config} {len(files)}")

    def unload_model(self, name: str, *, dependents: bool) -> None:
        raise NotImplementedError(f"{name} {dependents}")


def costs(seconds: float) -> list[Cost]:
    """Measure each size for ``seconds``, in turns, so that noise meets both."""
    with tempfile.TemporaryDirectory() as folder:
        version = _written(Path(folder))
        spec = LoadSpec(
            name="echo", version=1, path=version, filename="model.py", parameters={},
            placements=(Placement("echo_0_0"),), cores=1, config=parse(_CONFIG), host=_Host(),
        )  # fmt: skip
        model = PythonBackend().load(spec)
        try:
            series = [_Series(size, model.instances[0]) for size in SIZES]
            for one in series:
                one.run(batches=_WARM_UP)
                one.reset()
            end = time.monotonic() + seconds * len(series)
            while time.monotonic() < end:
                for one in series:
                    one.run(seconds=_CHUNK_S)
            return [one.cost() for one in series]
        finally:
            model.close()


def _written(repository: Path) -> Path:
    """The version folder of the echo model."""
    version = repository / _ECHO.model / "1"
    version.mkdir(parents=True)
    (version / "model.py").write_text(_MODEL)
    (version.parent / "config.pbtxt").write_text(_CONFIG)
    return version


def served(seconds: float) -> float:
    """CPU of the server and the model per request over HTTP, UNDER_WAY at a time; microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        _written(Path(folder))
        with running(Path(folder), _ECHO.model) as server:
            address = server.address("http")
            drive_http(_ECHO, address, UNDER_WAY, 1.0)
            before = server.counters()
            drive_http(_ECHO, address, UNDER_WAY, seconds)
            after = server.counters()
    return (after.cpu_s - before.cpu_s) / (after.requests - before.requests) * 1e6


def served_verdict(cpu_us: float) -> tuple[bool, str]:
    return cpu_us <= SERVED_US, (
        f"Python model over HTTP: {cpu_us:.0f} µs of CPU per request of {SIZES[0]} bytes at "
        f"{UNDER_WAY} under way, promised at most {SERVED_US:.0f}"
    )


class _Series:
    def __init__(self, byte_size: int, instance: Any) -> None:
        self._instance = instance
        self._array = np.random.default_rng(0).random((1, byte_size // 4), np.float32)
        self._check()
        self.reset()

    def _check(self) -> None:
        request = _Request({"IN": self._array})
        self._instance.execute_requests([request])
        assert request.answer is not None
        if not np.array_equal(request.answer.arrays[0], self._array):
            raise AssertionError("the echo model gave something else")

    def reset(self) -> None:
        self._times: list[float] = []
        self._server = self._model = 0.0

    def run(self, seconds: float = 0.0, batches: int = 0) -> None:
        instance, array, times = self._instance, self._array, self._times
        server, model = time.process_time(), process_cpu_s(instance.pid)
        end, count = time.perf_counter() + seconds, 0
        while count < batches or time.perf_counter() < end:
            request = _Request({"IN": array})
            start = time.perf_counter()
            instance.execute_requests([request])
            times.append(time.perf_counter() - start)
            count += 1
        self._server += (time.process_time() - server) * 1e6
        self._model += (process_cpu_s(instance.pid) - model) * 1e6

    def cost(self) -> Cost:
        times = sorted(self._times)
        count = len(times)
        return Cost(
            byte_size=self._array.nbytes,
            p50_us=times[count // 2] * 1e6,
            p90_us=times[count * 9 // 10] * 1e6,
            server_cpu_us=self._server / count,
            model_cpu_us=self._model / count,
            copy_us=_copy_us(self._array),
        )


def _copy_us(array: Array) -> float:
    target, best = np.empty_like(array), float("inf")
    for _ in range(200):
        start = time.perf_counter()
        np.copyto(target, array)
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def verdict(found: list[Cost]) -> tuple[bool, str]:
    small = found[0]
    kept = small.p50_us <= TARGET_US
    return kept, (
        f"Python model: {small.p50_us:.0f} µs per batch of {small.byte_size} bytes, "
        f"promised at most {TARGET_US:.0f}"
    )


def print_costs(found: list[Cost]) -> None:
    for one in found:
        print(
            f"Python model, {one.byte_size:>7,} bytes: p50 {one.p50_us:.0f} µs, "
            f"p90 {one.p90_us:.0f} µs; CPU {one.server_cpu_us:.0f} µs in the server, "
            f"{one.model_cpu_us:.0f} µs in the model; one bare copy {one.copy_us:.0f} µs"
        )


if __name__ == "__main__":
    measured = costs(3.0)
    print_costs(measured)
    print(verdict(measured)[1])
    print(served_verdict(served(4.0))[1])

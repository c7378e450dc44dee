"""Fake backends, and a bench around them, for tests of the sequence scheduler."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.backends.base import BackendRequest
from worker_runtime.core.execution.sequence_tensors import ControlKind, ControlSpec, StateSpec
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.sequence.config import SequenceConfig
from worker_runtime.core.scheduling.sequence.scheduler import SequenceScheduler
from worker_runtime.core.statistics import Statistics
from worker_runtime.types.request import InferRequest, Response, SequencePart
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

INT32 = BY_NAME["INT32"]
SIGNATURE = Signature(
    "m", 4, (TensorSpec("x", INT32, (1,)),), (TensorSpec("y", INT32, (1,)),)
)  # fmt: skip
CONTROLS = (
    ControlSpec("start", ControlKind.START, INT32, (0, 1)),
    ControlSpec("ready", ControlKind.READY, BY_NAME["FP32"], (0.0, 1.0)),
    ControlSpec("end", ControlKind.END, BY_NAME["BOOL"], (False, True)),
    ControlSpec("id", ControlKind.CORRID, BY_NAME["UINT64"]),
)
STATE = StateSpec("in", "out", INT32, (1,), np.full((1, 1), 100, np.int32))


class Recorder:
    """Gives back x; with a state y and the new state are x plus the old state."""

    graph = inline = None

    def __init__(self, count: int = 1) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.fed: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.instances = [self] * count

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        assert self.gate.wait(10)
        self.fed.append({name: array.copy() for name, array in inputs.items()})
        if self.error is not None:
            raise self.error
        total = inputs["x"] + inputs.get("in", 0)
        return [total for _ in outputs]

    def close(self) -> None:
        self.instances = []


class Ragged(Recorder):
    """Sees one flat x."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.seen.append((inputs["x"].tolist(), inputs["id"].reshape(-1).tolist()))
        return [inputs["start"] for _ in outputs]


class Apart(Recorder):
    """The same for requests that stay apart."""

    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        for request in requests:
            self.fed.append(
                {"sequence": request.sequence}
                | {name: array.tolist() for name, array in request.inputs.items()}
            )
            total = request.inputs["x"] + request.inputs.get("in", 0)
            request.send(Response(request.outputs, [total for _ in request.outputs]), final=True)


class Bench:
    def __init__(self, model: Any, config: SequenceConfig, **around: Any) -> None:
        self.sink = RecordingSink()
        self.statistics = Statistics()
        self.model = model
        self.planner = Planner(SIGNATURE)
        self.scheduler = SequenceScheduler(
            SIGNATURE, config, model, asyncio.get_running_loop(), self.statistics, **around
        )

    def send(
        self,
        sequence: int | str,
        flags: str = "",
        value: int = 1,
        *,
        rows: int = 1,
        timeout: int = 0,
    ) -> InferRequest:
        plan = self.planner.plan((("x", "INT32", (rows, 1)),), None)
        request = InferRequest(
            plan=plan,
            inputs=[np.full((rows, 1), value, np.int32).tobytes()],
            sink=self.sink,
            id=f"{sequence}{flags}{value}",
            timeout_ns=timeout,
        )
        if sequence:
            request.sequence = SequencePart(sequence, start="s" in flags, end="e" in flags)
        self.scheduler.submit(request)
        return request

    async def answers(self, count: int) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while len(self.sink.delivered) + len(self.sink.failed) < count:
                await asyncio.sleep(0.001)
        return {name: int(arrays[0].reshape(-1)[0]) for name, arrays in self.sink.delivered}

    async def idle(self) -> None:
        async with asyncio.timeout(10):
            while self.scheduler.live_sequences:
                await asyncio.sleep(0.001)


def config(**changes: Any) -> SequenceConfig:
    return SequenceConfig(
        **({"slots": 4, "idle_ns": 60_000_000_000, "controls": CONTROLS} | changes)
    )


def oldest(**changes: Any) -> SequenceConfig:
    return config(oldest=BatchingConfig(max_rows=4, preferred=(4,), dynamic=True), **changes)

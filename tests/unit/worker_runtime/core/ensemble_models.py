"""Ensembles over fake models for tests: each test decides when, and how, a step answers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.base import SchedulingContext
from worker_runtime.core.scheduling.ensemble.scheduler import EnsembleScheduler
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import NotFound
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import signature_of

Answer = Callable[[InferRequest], None]


def parsed(text: str) -> Any:
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def tensor_text(kind: str, name: str, dims: Sequence[int], *, optional: bool = False) -> str:
    extra = " optional: true" if optional else ""
    shown = ", ".join(map(str, dims))
    return f'{kind} {{ name: "{name}" data_type: TYPE_FP32 dims: [{shown}]{extra} }}\n'


def step_text(
    model: str, inputs: dict[str, str], outputs: dict[str, str], version: int = -1
) -> str:
    maps = [
        f'{kind} {{ key: "{key}" value: "{value}" }}'
        for kind, pairs in (("input_map", inputs), ("output_map", outputs))
        for key, value in pairs.items()
    ]
    return f'step {{ model_name: "{model}" model_version: {version} {" ".join(maps)} }}\n'


def ensemble_text(
    name: str, inputs: Sequence[str], outputs: Sequence[str], steps: Sequence[str], batch: int = 0
) -> str:
    """Tensors are FP32 [2] unless given as whole texts."""
    tensors = [t if "{" in t else tensor_text("input", t, [2]) for t in inputs]
    tensors += [t if "{" in t else tensor_text("output", t, [2]) for t in outputs]
    return (
        f'name: "{name}" platform: "ensemble" max_batch_size: {batch}\n{"".join(tensors)}'
        f"ensemble_scheduling {{ {''.join(steps)} }}"
    )


def model_text(
    name: str, inputs: Sequence[str] = ("x",), outputs: Sequence[str] = ("y",), batch: int = 0
) -> str:
    tensors = [t if "{" in t else tensor_text("input", t, [2]) for t in inputs]
    tensors += [t if "{" in t else tensor_text("output", t, [2]) for t in outputs]
    return f'name: "{name}" max_batch_size: {batch}\n{"".join(tensors)}'


class HeldScheduler:
    """Keeps requests until the test answers them, or answers at once."""

    def __init__(self, answer: Answer | None) -> None:
        self.statistics = Statistics()
        self.waiting: list[InferRequest] = []
        self.seen: list[InferRequest] = []
        self.pending = 0
        self.busy = False
        self.answer = answer
        self.refuse: Exception | None = None
        self.on_device = self.takes_regions = False

    def submit(self, request: InferRequest) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.seen.append(request)
        if self.answer is not None:
            self.answer(request)
        else:
            self.waiting.append(request)

    def cancel(self, request: InferRequest) -> bool:
        request.cancelled = True
        if request not in self.waiting:
            return False
        self.waiting.remove(request)
        request.sink.fail(request, NotFound("cancelled by the test"))
        return True

    async def drain(self) -> None: ...

    def close(self) -> None: ...


class FakeServed:
    def __init__(self, text: str, answer: Answer | None = None) -> None:
        config = parsed(text)
        self.config = config
        self.name = config.name
        self.version = 1
        self.signature = signature_of(config)
        self.planner = Planner(self.signature)
        self.scheduler = HeldScheduler(answer)
        self.pins = 0

    def pin(self) -> None:
        self.pins += 1

    def unpin(self) -> None:
        self.pins -= 1


def arrays_of(request: InferRequest) -> dict[str, Any]:
    """What a model would see."""
    return {
        item.name: (
            buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.float32)
        ).reshape(item.shape)
        for item, buffer in zip(request.plan.inputs, request.inputs, strict=True)
    }


def plus(amount: float) -> Answer:
    """Every output is the sum of all inputs, plus something."""

    def answer(request: InferRequest) -> None:
        total = sum(arrays_of(request).values()) + np.float32(amount)
        request.timings = (100, 110, 130, 160)
        request.sink.deliver(request, [total for _ in request.plan.outputs])

    return answer


class EnsembleHarness:
    def __init__(self, text: str, *models: FakeServed) -> None:
        self.config = parsed(text)
        self.models = {model.name: model for model in models}
        self.statistics = Statistics()
        self.resolved: list[tuple[str, str]] = []
        signature = signature_of(self.config)
        self.planner = Planner(signature)
        self.scheduler = EnsembleScheduler(
            self.config, signature, SchedulingContext(resolve=self._resolve), self.statistics
        )

    def _resolve(self, name: str, version: str) -> Any:
        self.resolved.append((name, version))
        if name not in self.models:
            raise NotFound(f"Request for unknown model: '{name}' is not found")
        return self.models[name]

    def request(
        self, sink: Any, outputs: tuple[str, ...] | None = None, **arrays: Any
    ) -> InferRequest:
        given = {name: np.asarray(value, np.float32) for name, value in arrays.items()}
        forms = tuple((name, "FP32", array.shape) for name, array in given.items())
        plan = self.planner.plan(forms, outputs)
        buffers = [array.tobytes() for array in given.values()]
        if plan.order is not None:
            buffers = [buffers[i] for i in plan.order]
        return InferRequest(plan=plan, inputs=buffers, sink=sink, id="r")


CHAIN = ensemble_text(
    "chain",
    ["IN"],
    ["OUT"],
    [step_text("a", {"x": "IN"}, {"y": "MID"}), step_text("b", {"x": "MID"}, {"y": "OUT"})],
)
QUIET = {"sequence_id": 0, "sequence_start": False, "sequence_end": False}


def answer_of(sink: RecordingSink) -> dict[str, Any]:
    """The one answer, which must be final, by output."""
    [(_, response, final)] = sink.responded
    assert final
    assert response is not None
    return dict(zip(response.names, response.arrays, strict=True))

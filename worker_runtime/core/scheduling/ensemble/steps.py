"""The requests that an ensemble request makes of its composing models, and their answers' way."""

from typing import Protocol

from worker_runtime.core.scheduling.context import ServedModel
from worker_runtime.core.scheduling.ensemble.flow import (
    NO_SEQUENCE,
    Held,
    SequenceNote,
    adapted,
)
from worker_runtime.core.scheduling.ensemble.graph import Step
from worker_runtime.errors import RuntimeFault
from worker_runtime.types.request import Arrays, InferRequest, Response, SequencePart


class StepOwner(Protocol):
    """The run that a step belongs to."""

    def answered(
        self, call: "StepCall", request: InferRequest, response: Response | None, *, final: bool
    ) -> None: ...

    def failed(self, call: "StepCall", request: InferRequest, error: Exception) -> None: ...

    def submit(self, call: "StepCall") -> None: ...


class StepCall:
    """The sink of one step's request. ``sequence`` is what the step's outputs inherit."""

    __slots__ = ("__weakref__", "model", "run", "sequence", "specs", "step")

    def __init__(
        self, run: StepOwner, step: Step, model: ServedModel, sequence: SequenceNote
    ) -> None:
        self.run = run
        self.step = step
        self.model = model
        self.sequence = sequence
        self.specs = {spec.name: spec for spec in model.signature.outputs}

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self.run.answered(self, request, Response(request.plan.outputs, outputs), final=True)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        self.run.answered(self, request, response, final=final)

    def fail(self, request: InferRequest, error: Exception) -> None:
        self.run.failed(self, request, error)


def shapes_of(request: InferRequest) -> list[tuple[str, tuple[int, ...]]]:
    return [(item.name, item.shape) for item in request.plan.inputs]


class StepMaker:
    """Makes the requests of one ensemble request, which hand on what it asked for."""

    def __init__(self, request: InferRequest) -> None:
        self._request = request
        part = request.sequence
        self._sequence = NO_SEQUENCE if part is None else (part.id, part.start, part.end)

    def call(
        self, run: StepOwner, step: Step, model: ServedModel, inputs: list[tuple[str, Held]]
    ) -> tuple[StepCall, InferRequest]:
        """Raises InvalidArgument when the tensors do not fit the model after all."""
        source = self._request
        specs = {spec.name: spec for spec in model.signature.inputs}
        order = {name: position for position, name in enumerate(specs)}
        batching = model.signature.max_batch_size > 0
        sequence: SequenceNote | None = None
        forms, buffers = [], []
        for name, held in sorted(inputs, key=lambda pair: order.get(pair[0], 0)):
            if held.sequence is not None and sequence is None:
                sequence = held.sequence
            tensor = held.tensor
            if tensor is None:
                continue
            shape, spec = tensor.shape, specs.get(name)
            if spec is not None:  # else the planner says what is wrong
                shape = adapted(spec.dims, shape, batching=batching, rows=tensor.rows)
            forms.append((name, tensor.datatype, shape))
            buffers.append(tensor.data)
        sequence = sequence or self._sequence
        try:
            plan = model.planner.plan(tuple(forms), tuple(output for output, _ in step.outputs))
        except RuntimeFault as error:
            raise error.for_request(source.id) from None
        call = StepCall(run, step, model, sequence)
        number, start, end = sequence
        request = InferRequest(
            plan=plan,
            inputs=buffers,
            sink=call,
            id=source.id,
            timeout_ns=source.timeout_ns,
            priority=source.priority,
            model=model,
            sequence=SequencePart(number, start, end) if number else None,
            parameters=source.parameters,
            cancelled=source.cancelled,
        )
        return call, request

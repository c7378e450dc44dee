"""What all requests of one ensemble share: its steps as its models take them, and their limits."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from weakref import ref

import msgspec

from worker_runtime.core.scheduling.base import SchedulingContext, ServedModel
from worker_runtime.core.scheduling.ensemble.graph import (
    EnsembleGraph,
    Form,
    SequenceNote,
    Step,
    Tensor,
    adapted,
)
from worker_runtime.errors import RuntimeFault
from worker_runtime.observability.metrics.latency import Histogram
from worker_runtime.types.device_memory import DeviceBuffer, DeviceWindow
from worker_runtime.types.request import InferRequest, ParameterValue, Plan, SequencePart, Sink
from worker_runtime.types.signature import Signature, TensorSpec

Shapes = list[tuple[str, tuple[int, ...]]]
_MAX_PLANS = 1024
WISH = "shoal_step_timings"  # a request parameter, and the response parameter that answers it
T = TypeVar("T")


class StepRecipe:
    """A step as one version of its model takes it: what no request changes, worked out once.

    ``tensors`` are its inputs; ``outputs`` each have their name in the model, where they go and
    their data type; both as the model's configuration orders them.
    """

    def __init__(self, step: Step, model: ServedModel) -> None:
        signature = model.signature
        specs = {spec.name: spec for spec in signature.inputs}
        order = {name: position for position, name in enumerate(specs)}
        inputs = sorted(step.inputs, key=lambda pair: order.get(pair[0], 0))
        targets = dict(step.outputs)
        self.step = step
        self.batching = signature.max_batch_size > 0
        self.tensors = tuple(tensor for _, tensor in inputs)
        # why not all targets: the planner says what is wrong with those that the model has not.
        self.outputs = tuple(
            (spec.name, targets[spec.name], spec.datatype)
            for spec in signature.outputs
            if spec.name in targets
        )
        self._wanted = tuple(targets)
        self._inputs: list[tuple[str, TensorSpec | None]] = [
            (name, specs.get(name)) for name, _ in inputs
        ]
        self._plans: dict[tuple[Form | None, ...], Plan] = {}
        self.on_device = model.scheduler.on_device
        self.takes_regions = model.scheduler.takes_regions
        # by the model's names: what only steps on devices take, and what nobody takes but clients
        self.stay: tuple[str, ...] = ()
        self.leave: tuple[tuple[str, str], ...] = ()

    def request(
        self,
        model: ServedModel,
        source: InferRequest,
        sink: Sink,
        inherited: SequenceNote,
        tensors: list[Tensor],
    ) -> InferRequest:
        """The step's request for the inputs ``tensors``, which hands on what ``source`` asked for.

        Its form is this recipe and the sequence of its outputs: what its tensors say, or else
        ``inherited``. Raises InvalidArgument when they do not fit the model after all.
        """
        sequence: SequenceNote | None = None
        forms: list[Form | None] = []
        buffers = []
        for tensor in tensors:
            forms.append(tensor.form)
            if tensor.form is not None:
                data = tensor.data
                as_it_is = self.takes_regions or type(data) is not DeviceBuffer
                buffers.append(data if as_it_is else bytes(data))
            if sequence is None:
                sequence = tensor.sequence
        try:
            plan = self.plan(model, tuple(forms))
        except RuntimeFault as error:
            raise error.for_request(source.id) from None
        number, start, end = sequence = sequence or inherited
        return InferRequest(
            plan=plan,
            inputs=buffers,
            sink=sink,
            id=source.id,
            timeout_ns=source.timeout_ns,
            priority=source.priority,
            form=(self, sequence),
            model=model,
            sequence=SequencePart(number, start, end) if number else None,
            parameters=source.parameters,
            cancelled=source.cancelled,
            device_windows=self._windows(source.device_windows),
            stay=self.stay,
        )

    def _windows(self, wanted: Mapping[str, DeviceWindow] | None) -> dict[str, DeviceWindow] | None:
        """Where the step may put outputs of the ensemble."""
        if not wanted or not self.takes_regions:
            return None
        return {source: wanted[name] for source, name in self.leave if name in wanted}

    def plan(self, model: ServedModel, forms: tuple[Form | None, ...]) -> Plan:
        """The plan for inputs of these forms; None for one that was left out.

        Raises InvalidArgument when they do not fit the model after all.
        """
        plan = self._plans.get(forms)
        if plan is None:
            asked = [
                (name, form[0], self._shape(spec, form))
                for (name, spec), form in zip(self._inputs, forms, strict=True)
                if form is not None
            ]
            plan = model.planner.plan(tuple(asked), self._wanted)
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            self._plans[forms] = plan
        return plan

    def shapes(self, tensors: list[Tensor]) -> Shapes:
        """Of ``tensors``, which are its inputs, as their makers gave them."""
        return [
            (name, tensor.form[1])
            for (name, _), tensor in zip(self._inputs, tensors, strict=True)
            if tensor.form is not None
        ]

    def _shape(self, spec: TensorSpec | None, form: Form) -> tuple[int, ...]:
        _, shape, rows = form
        if spec is None:  # the planner says what is wrong
            return shape
        return adapted(spec.dims, shape, batching=self.batching, rows=rows)


def shapes_of(request: InferRequest) -> Shapes:
    return [(item.name, item.shape) for item in request.plan.inputs]


class StepTimings:
    """Where one request spent its time, for who asks: its steps, in the order of their ends."""

    def __init__(self) -> None:
        self._rows: list[dict[str, str | int]] = []

    @classmethod
    def wished(cls, request: InferRequest) -> "StepTimings | None":
        """None unless the request has the parameter, and it is true."""
        return cls() if request.parameters and request.parameters.get(WISH) is True else None

    def add(self, step: Step, request: InferRequest) -> None:
        """One execution of ``step``; times are whole microseconds."""
        start, fed, computed, end = request.timings
        self._rows.append(
            {
                "step": step.index,
                "model": step.model,
                "queue_us": (start - request.queued_ns) // 1000,
                "compute_input_us": (fed - start) // 1000,
                "compute_infer_us": (computed - fed) // 1000,
                "compute_output_us": (end - computed) // 1000,
            }
        )

    def beside(self, parameters: dict[str, ParameterValue] | None) -> dict[str, ParameterValue]:
        """``parameters`` and the timings as JSON text."""
        return {**(parameters or {}), WISH: msgspec.json.encode(self._rows).decode()}


class StepLimiter(Generic[T]):
    """``max_inflight_requests``: slots for one step, over all requests; 0 means no limit.

    Who gets none waits in line. Pure.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._line: deque[T] = deque()

    def acquire(self, waiter: T) -> bool:
        """True when there is a slot now; else ``release`` will hand ``waiter`` out later."""
        if self._limit and self._taken >= self._limit:
            self._line.append(waiter)
            return False
        self._taken += 1
        return True

    def release(self) -> T | None:
        """Give a slot back; whoever is returned has it now."""
        if self._line:
            return self._line.popleft()
        self._taken -= 1
        return None

    def withdraw(self, waiter: T) -> bool:
        """Leave the line; False when it is not in it."""
        for position, waiting in enumerate(self._line):
            if waiting is waiter:
                del self._line[position]
                return True
        return False


class Ensemble:
    """What all requests of one ensemble share. ``ended`` is told when a run is over."""

    def __init__(
        self,
        graph: EnsembleGraph,
        signature: Signature,
        context: SchedulingContext,
        *,
        decoupled: bool,
        max_inflight: int,
        ended: Callable[[Any], None],
        first_response: Histogram | None = None,
    ) -> None:
        self.graph = graph
        self.outputs = {spec.name: spec for spec in signature.outputs}
        self.batching = signature.max_batch_size > 0
        self.resolve = context.resolve
        self.decoupled = decoupled
        self.limiters: list[StepLimiter[InferRequest]] = (
            [StepLimiter(max_inflight) for _ in graph.steps] if max_inflight else []
        )
        self.ended = ended
        self.first_response = first_response
        self.places = [graph.models.index((step.model, step.version)) for step in graph.steps]
        self._recipes: list[StepRecipe] = []
        self._made_for: list[ref[ServedModel]] = []

    def recipes(self, models: Sequence[ServedModel]) -> list[StepRecipe]:
        """One for each step, with ``models`` for those of the graph.

        They are remembered until a request finds another version of a model, and keep none alive.
        """
        versions = list(map(ref, models))
        if versions != self._made_for:
            self._made_for = versions
            self._recipes = recipes = [
                StepRecipe(step, models[at])
                for step, at in zip(self.graph.steps, self.places, strict=True)
            ]
            for recipe in recipes:
                self._place(recipe, recipes)
        return self._recipes

    def _place(self, recipe: StepRecipe, recipes: Sequence[StepRecipe]) -> None:
        """Which of its outputs stay on the device that it runs on."""
        stay, leave = [], []
        for source, name in recipe.step.outputs:
            readers = self.graph.readers(name)
            if not readers:
                # why: a window knows one answer, and what such steps give may be many
                if recipe.on_device or not self.decoupled:
                    leave.append((source, name))
            elif name not in self.outputs and all(recipes[index].on_device for index in readers):
                stay.append(source)
        recipe.stay, recipe.leave = tuple(stay), tuple(leave)

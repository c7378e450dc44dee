"""The engine as a front end has it: requests checked here, then bundled for the core, or run."""

import asyncio
from collections.abc import Mapping
from time import monotonic_ns
from typing import Any, NamedTuple

from worker_runtime.core.directory import Directory
from worker_runtime.core.plans import InputForm, Planner
from worker_runtime.errors import Cancelled, InvalidArgument, RuntimeFault, Unavailable
from worker_runtime.frontends.answering import Answering
from worker_runtime.frontends.link import Link
from worker_runtime.frontends.memory import RegionPart, RemoteMemory, places_of
from worker_runtime.frontends.messages import (
    Bundle,
    Entry,
    ModelForm,
    Place,
    PlanForm,
    Seen,
    SpecForm,
    State,
    Traced,
    extra_of,
)
from worker_runtime.frontends.tensors import (
    LARGE,
    Tail,
    has_many_strings,
    raw_input,
    strings_written,
)
from worker_runtime.observability.requests.keeper import RequestKeeper
from worker_runtime.protocols.slices import Slices
from worker_runtime.types.request import InferRequest, Plan
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME
from worker_runtime.types.triton_messages import model_config_pb2

_MOST_PLANS = 1024  # whose numbers are remembered; the core keeps twice as many
_LARGEST_DIM = 2**63 - 1
CORE_GONE = "the server's core has ended"


class RemoteModel:
    """A READY model version of the core."""

    def __init__(self, form: ModelForm) -> None:
        self.number = form.number
        self.name = form.name
        self.version = form.version
        self.config: Any = model_config_pb2.ModelConfig.FromString(form.config)
        self.decoupled: bool = self.config.model_transaction_policy.decoupled
        self.signature = Signature(
            form.model,
            form.max_batch_size,
            tuple(map(_spec, form.inputs)),
            tuple(map(_spec, form.outputs)),
        )
        self.on_device = form.on_device
        self.planner = Planner(self.signature)
        # Itself, in this process, where it runs here. why Any: what runs models comes when one does
        self.copy: Any = None
        self.forms: dict[bytes, Any] = {}
        self.wire_forms: dict[bytes, Any] = {}


def _spec(form: SpecForm) -> TensorSpec:
    return TensorSpec(
        *(form.name, BY_NAME[form.datatype], form.dims, form.reshape, form.optional),
        *(form.labels, form.ragged, form.shape_tensor),
    )


class _Planned(NamedTuple):
    """A plan that the core knows by ``number``. It is held, so that its id stays its own.

    ``plain``: its tensors are small and of known sizes, ``total`` bytes in all.
    """

    plan: Plan
    number: int
    sizes: tuple[int, ...]
    total: int
    plain: bool


class RemoteTracer:
    """``active`` as the core says; what it must know to trace a request goes with it."""

    active = False

    def __init__(self) -> None:
        self.requests = RequestKeeper()  # which nobody ever looks into

    def start(
        self,
        request: InferRequest,
        model: Any,  # noqa: ARG002 # as Tracer has it
        prefix: str,
        headers: Mapping[str, str] | None = None,
        received: tuple[int, int] = (0, 0),
    ) -> None:
        request.trace = Traced(prefix, dict(headers or {}), received)


class RemoteEngine:
    """The half of the seam that takes requests. ``models`` are those that are READY, by number.

    The number of a request for the core is in ``queued_ns``: it does not queue here.
    """

    def __init__(self, link: Link, *, shared_memory: bool) -> None:
        self._link = link
        self._memory = RemoteMemory(enabled=shared_memory)
        self.tracer: Any = RemoteTracer()
        self.stopping = False
        self.models: dict[int, RemoteModel] = {}
        self._ready: dict[tuple[str, str], RemoteModel] = {}
        self._directory = Directory(self._ready, (), lambda _: None)
        self._plans: dict[int, _Planned] = {}
        self._number = self._plan_number = 0
        self._slices = Slices()
        self._unsent: set[int] = set()  # whose BYTES are being written in slices
        self._answering = Answering(self._slices)
        self._lost = False
        self._loop = asyncio.get_running_loop()
        self._woken = False
        self._begin()
        self.answered = self._answering.block

    # --- the seam --------------------------------------------------------------------------------

    @property
    def shared_memory(self) -> RemoteMemory:
        return self._memory

    def resolve(self, name: str, version: str = "") -> RemoteModel:
        model = self._ready.get((name, version))
        return model if model is not None else self._directory.resolve(name, version)

    def only_model(self) -> RemoteModel:
        return self._directory.only()

    def plan(
        self,
        model: RemoteModel,
        request_id: str,
        inputs: tuple[InputForm, ...],
        outputs: tuple[str, ...] | None,
    ) -> Plan:
        try:
            return model.planner.plan(inputs, outputs)
        except RuntimeFault as error:
            raise error.for_request(request_id) from None

    def submit(self, model: RemoteModel, request: InferRequest) -> None:
        if self._lost:
            raise Unavailable(CORE_GONE)
        if model.copy is not None and self._runs_here(request):
            request.model = model.copy
            request.arrived_ns = request.arrived_ns or monotonic_ns()
            model.copy.scheduler.submit(request)
            return
        request.model = model
        plan = request.plan
        held = self._plans.get(id(plan)) or self._remember(model, plan)
        self._number = number = self._number + 1
        request.queued_ns = number
        if not self._woken:
            self._wake()
        self._answering.open[number] = request
        # why not behind entries: what was asked first is first in the core
        if request.trace is None and not (
            self._entries
            or request.priority
            or request.timeout_ns
            or request.sequence
            or request.parameters
        ):
            for buffer, size in zip(request.inputs, held.sizes, strict=True):
                if type(buffer) is not bytes or len(buffer) != size:
                    break
            else:
                if held.plain and (request.form is None or not request.form.windows):
                    self._small.parts += request.inputs
                    self._small.size += held.total
                    self._plain += (number, held.number, request.arrived_ns or monotonic_ns())
                    if request.id:
                        self._ids[number] = request.id
                    return
        # why not of sequences: what is behind them must not overtake them.
        if request.sequence is None and has_many_strings(request.inputs):
            self._submit_later(model, request, number)
        else:
            self._submit_whole(request, held.number, number)

    def _runs_here(self, request: InferRequest) -> bool:
        """Nothing of it is the core's: its traces, sequences and regions, and the last word."""
        if self.stopping or request.trace is not None or request.sequence is not None:
            return False
        if request.form is not None and request.form.windows:
            return False
        return not any(type(buffer) is RegionPart for buffer in request.inputs)

    def _submit_later(self, model: RemoteModel, request: InferRequest, number: int) -> None:
        def done(inputs: list[Any]) -> None:
            self._unsent.discard(number)
            request.inputs = inputs
            plan = request.plan
            held = self._plans.get(id(plan)) or self._remember(model, plan)
            self._wake()
            self._submit_whole(request, held.number, number)

        self._unsent.add(number)
        self._slices.run(
            strings_written(request.inputs),
            wanted=lambda: number in self._unsent,
            done=done,
            failed=lambda error: self._answering.fail(number, error),
        )

    def _submit_whole(self, request: InferRequest, planned: int, number: int) -> None:
        """A request that may have anything."""
        tail, odd, sizes = self._tail, False, list[int]()
        regions: list[Place | None] = []
        for item, buffer in zip(request.plan.inputs, request.inputs, strict=True):
            place = buffer.place if type(buffer) is RegionPart else None
            if place is not None or regions:
                regions = regions or [None] * len(sizes)
                regions.append(place)
            raw = b"" if place is not None else raw_input(buffer)
            size = len(raw)
            odd = odd or size != item.byte_size
            sizes.append(size)
            tail.add(raw, size)
        form = request.form
        extra = extra_of(request, tuple(regions), form and places_of(form.windows))
        arrived = request.arrived_ns or monotonic_ns()
        self._entries.append(
            Entry(number, planned, arrived, request.id, tuple(sizes) if odd else None, extra)
        )

    def cancel(self, request: InferRequest) -> None:
        model = request.model
        if model is not None and type(model) is not RemoteModel:
            model.scheduler.cancel(request)
            return
        number = request.queued_ns
        if number in self._unsent:
            self._unsent.discard(number)
            self._answering.fail(number, Cancelled("the request was cancelled"))
        elif self._answering.open.get(number) is request:
            self._wake()
            self._cancelled.append(number)

    # --- to the core -----------------------------------------------------------------------------

    def say(self, message: Any) -> None:
        self._wake()
        self._said.append(message)

    def _remember(self, model: RemoteModel, plan: Plan) -> "_Planned":
        for item in plan.inputs:
            if max(item.wire_shape, default=0) > _LARGEST_DIM:  # only empty tensors have such
                raise InvalidArgument(
                    f"input '{item.name}' has a dimension of {max(item.wire_shape)}, expected at "
                    f"most {_LARGEST_DIM}"
                )
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plan_number = number = self._plan_number + 1
        sizes = tuple([item.byte_size for item in plan.inputs])
        plain = all(0 <= size < LARGE for size in sizes)
        found = self._plans[id(plan)] = _Planned(plan, number, sizes, sum(sizes), plain)
        forms = tuple([(i.name, i.datatype.name, i.wire_shape) for i in plan.inputs])
        self._forms.append(PlanForm(number, model.number, forms, plan.outputs))
        return found

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        self._woken = False
        bundle = Bundle(
            *(self._forms, self._plain, self._ids, self._entries, self._cancelled, self._said)
        )
        small, tail = self._small, self._tail
        small.join(tail)
        self._link.send(bundle, small)
        self._begin()

    def _begin(self) -> None:
        """The next bundle."""
        self._forms: list[PlanForm] = []
        self._plain: list[int] = []
        self._ids: dict[int, str] = {}
        self._entries: list[Entry] = []
        self._cancelled: list[int] = []
        self._said: list[Any] = []
        self._small = Tail()
        self._tail = Tail()

    # --- from the core ---------------------------------------------------------------------------

    def follow(self, state: State) -> None:
        """Know what the core says, and say that it is known."""
        for form in state.models:
            self.models[form.number] = RemoteModel(form)
        ready = {(key, version): number for key, version, number in state.ready}
        kept = set(ready.values())
        self.models = {n: model for n, model in self.models.items() if n in kept}
        self._ready = {key: self.models[number] for key, number in ready.items()}
        self._directory = Directory(self._ready, state.known, state.versions.get)
        self._memory.follow(state.regions)
        self.stopping = state.stopping
        self.tracer.active = state.tracing
        self.say(Seen(state.epoch))

    def lose(self) -> None:
        """The core has gone: whoever waits for it is told."""
        self._lost = self.stopping = True
        self._unsent.clear()
        self._answering.fail_all(Unavailable(CORE_GONE))

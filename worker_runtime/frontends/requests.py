"""The core's side of a front end's requests: bundles in, calls of the engine, answers collected."""

import logging
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from worker_runtime.core.engine import Engine
from worker_runtime.core.model import ModelVersion
from worker_runtime.errors import Cancelled, RuntimeFault, Unavailable
from worker_runtime.frontends.messages import (
    REFUSE,
    Answer,
    Bundle,
    Entry,
    Extra,
    More,
    Place,
    PlanForm,
    fault_text,
)
from worker_runtime.frontends.replies import Replies
from worker_runtime.frontends.tensors import (
    Reading,
    behind,
)
from worker_runtime.protocols.forms import device_windows
from worker_runtime.protocols.slices import Steps
from worker_runtime.protocols.strings import strings_in_slices
from worker_runtime.types.request import InferRequest, Plan, SequencePart
from worker_runtime.types.tensor import (
    BY_NAME,
    MANY_STRINGS,
    element_count,
    parse_strings,
)

logger = logging.getLogger(__name__)
_MOST = 1024  # layouts that are remembered; the other side keeps twice as many
MOST_PLANS = 2 * _MOST
_NO_PLACES: tuple[Place | None, ...] = ()
_NOTHING = Extra()


class _Planned(NamedTuple):
    """``sizes`` are those of the inputs in bytes, -1 for BYTES; or why there is no plan.

    ``slices`` are where they lie in a request of nothing but small tensors, of ``total`` bytes.
    """

    model: ModelVersion | None
    plan: Plan | None
    sizes: tuple[int, ...]
    slices: tuple[tuple[int, int], ...]
    total: int
    fault: RuntimeFault | None = None


class RemoteRequests(Replies):
    """Its receiving side. ``models`` are those that front ends may know, by number."""

    def __init__(
        self, engine: Engine, models: Mapping[int, ModelVersion], wake: Callable[[], None]
    ) -> None:
        super().__init__(wake)
        self._engine = engine
        self._models = models
        self._plans: dict[int, _Planned] = {}

    # --- requests --------------------------------------------------------------------------------

    def take(self, bundle: Bundle, frame: bytes | memoryview, start: int) -> None:
        for form in bundle.plans:
            self._plans[form.number] = self._planned(form)
        if len(self._plans) > MOST_PLANS:
            newest = max(self._plans)
            self._plans = {n: p for n, p in self._plans.items() if n > newest - _MOST}
        at = start
        plain, ids = bundle.plain, bundle.ids
        for i in range(0, len(plain), 3):
            number, planned = plain[i], self._plans[plain[i + 1]]
            called = ids.get(number, "") if ids else ""
            inputs: list[Any] = [frame[at + begin : at + end] for begin, end in planned.slices]
            if type(frame) is not bytes:
                inputs = [bytes(part) for part in inputs]  # which are aligned
            self._submit_plain(planned, inputs, number, plain[i + 2], called)
            at += planned.total
        if bundle.entries:
            reading = Reading(frame, behind(start, at - start))
            for entry in bundle.entries:
                self._submit(entry, reading)
        for number in bundle.cancelled:
            request = self._open.get(number)
            if request is not None:
                request.cancelled = True
                self._engine.cancel(request)
                if request.model is None:  # it is still being read
                    self._refused(number, Cancelled("the request was cancelled"))

    def close(self) -> None:
        """Nobody waits for what is under way."""
        self._closed = True
        for request in list(self._open.values()):
            request.cancelled = True
            self._engine.cancel(request)
        self._open.clear()
        self._windows.clear()
        self._writing.clear()

    def _planned(self, form: PlanForm) -> _Planned:
        sizes = tuple(
            element_count(shape) * BY_NAME[kind].item_size or (-1 if kind == "BYTES" else 0)
            for _, kind, shape in form.inputs
        )
        ends = list(accumulate(sizes, initial=0))
        slices = tuple(pairwise(ends))
        model, plan, fault = self._models.get(form.model), None, None
        try:
            if model is None:
                raise Unavailable("the model was unloaded")
            plan = self._engine.plan(model, "", form.inputs, form.outputs)
        except RuntimeFault as error:
            fault = error
        return _Planned(model, plan, sizes, slices, ends[-1], fault)

    def _submit_plain(
        self, planned: _Planned, inputs: list[Any], number: int, arrived: int, called: str
    ) -> None:
        model, plan = planned.model, planned.plan
        if model is None or plan is None:
            fault = planned.fault or Unavailable("the model was unloaded")
            self._add(Answer(number, REFUSE, more=More(fault_text(fault))))
            return
        request = InferRequest(plan, inputs, self, called, arrived, form=number)
        self._open[number] = request
        try:
            self._engine.submit(model, request)
        except Exception as error:  # why so wide: every request gets an answer
            self._refused(number, error)

    def _submit(self, entry: Entry, reading: Reading) -> None:
        number, planned, extra = entry.number, self._plans[entry.plan], entry.extra
        raw: list[Any]
        if extra is None and entry.sizes is None:
            raw = [reading.take(size) for size in planned.sizes]
        else:
            regions = extra.regions if extra is not None else _NO_PLACES
            sizes = entry.sizes or planned.sizes
            raw = [
                None if regions and regions[i] else reading.take(size)
                for i, size in enumerate(sizes)
            ]
        try:
            if planned.fault is not None:
                raise planned.fault
            model, plan = planned.model, planned.plan
            assert model is not None  # noqa: S101 # or there was a fault
            assert plan is not None  # noqa: S101
            request = InferRequest(plan, raw, self, entry.id, entry.arrived_ns, form=number)
            many = False
            if extra is not None or entry.sizes is not None:
                many = self._complete(request, model, extra or _NOTHING)
            self._open[number] = request
            if many:
                self._submit_later(model, request)
                return
            self._engine.submit(model, request)
        except Exception as error:  # why so wide: every request gets an answer
            self._refused(number, error)

    def _submit_later(self, model: ModelVersion, request: InferRequest) -> None:
        def done(inputs: list[Any]) -> None:
            request.inputs = inputs
            self._engine.submit(model, request)

        number: int = request.form
        self._slices.run(
            _strings_read(request, model),
            wanted=lambda: self._open.get(number) is request,
            done=done,
            failed=lambda error: self._refused(number, error),
        )

    def _refused(self, number: int, error: Exception) -> None:
        if not isinstance(error, RuntimeFault):
            logger.error("a request of a front end failed", exc_info=error)
        self._end(number)
        self._add(Answer(number, REFUSE, more=More(fault_text(error))))

    def _complete(self, request: InferRequest, model: ModelVersion, extra: Extra) -> bool:
        """What few requests have; whether there are BYTES of many elements that are still to be
        read. Raises a RuntimeFault.
        """
        many = False
        memory, inputs = self._engine.shared_memory, request.inputs
        for i, item in enumerate(request.plan.inputs):
            place = extra.regions[i] if extra.regions else None
            if place is not None:
                inputs[i] = memory.view(*place, on_device=model.on_device)
            elif item.byte_size < 0:
                count = element_count(item.wire_shape)
                # why not of sequences: what is behind them must not overtake them.
                if count > MANY_STRINGS and extra.sequence is None:
                    many = True
                    continue
                inputs[i] = parse_strings(inputs[i], count, item.name, model.name, request.id)
        request.priority = extra.priority
        request.timeout_ns = extra.timeout_us * 1000
        request.parameters = extra.parameters
        if extra.sequence is not None:
            request.sequence = SequencePart(*extra.sequence)
        if extra.windows:
            windows = {name: memory.window(*place) for name, place in extra.windows.items()}
            self._windows[request.form] = windows
            request.device_windows = device_windows(windows)
        traced, tracer = extra.traced, self._engine.tracer
        if traced is not None and tracer.active:
            tracer.start(request, model, traced.protocol, traced.headers, traced.received)
        return many


def _strings_read(request: InferRequest, model: ModelVersion) -> Steps[list[Any]]:
    """The inputs of ``request``, BYTES that are in their wire form as arrays."""
    found = list[Any]()
    for item, raw in zip(request.plan.inputs, request.inputs, strict=True):
        if item.byte_size < 0 and not isinstance(raw, np.ndarray):
            count = element_count(item.wire_shape)
            raw = yield from strings_in_slices(raw, count, item.name, model.name, request.id)
        found.append(raw)
    return found

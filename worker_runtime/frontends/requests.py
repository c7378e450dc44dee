"""The core's side of a front end's requests: bundles in, calls of the engine, answers collected."""

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from worker_runtime.core.engine import Engine
from worker_runtime.core.model import ModelVersion
from worker_runtime.core.shared_memory import Window
from worker_runtime.errors import RuntimeFault, Unavailable
from worker_runtime.frontends.messages import (
    DELIVER,
    FAIL,
    LAST,
    REFUSE,
    RESPOND,
    Answer,
    Block,
    Bundle,
    Entry,
    Extra,
    Layout,
    More,
    Place,
    PlanForm,
    fault_text,
)
from worker_runtime.frontends.tensors import LARGE, Reading, Tail, behind, raw_output
from worker_runtime.protocols.forms import device_windows
from worker_runtime.types.request import Arrays, InferRequest, Plan, Response, SequencePart
from worker_runtime.types.tensor import BY_NAME, element_count, parse_strings

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


class _Layout(NamedTuple):
    """Of an answer that is nothing but small tensors, of ``total`` bytes."""

    number: int
    outputs: tuple[tuple[tuple[int, ...], Any], ...]  # shapes and numpy types
    total: int


class RemoteRequests:
    """The sink of all requests of one front end; a request's form is the number that it has there.

    ``models`` are those that front ends may know, by number. ``wake`` is called when there is
    something to send where there was nothing.
    """

    def __init__(
        self, engine: Engine, models: Mapping[int, ModelVersion], wake: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._models = models
        self._wake = wake
        self._plans: dict[int, _Planned] = {}
        self._open: dict[int, InferRequest] = {}
        self._windows: dict[int, dict[str, Window]] = {}
        self._known: dict[Any, int] = {}
        self._number = 0  # of the last layout
        self._closed = False
        self._last: _Layout | None = None
        self._begin()

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

    def close(self) -> None:
        """Nobody waits for what is under way."""
        self._closed = True
        for request in list(self._open.values()):
            request.cancelled = True
            self._engine.cancel(request)
        self._open.clear()
        self._windows.clear()

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
            if extra is not None or entry.sizes is not None:
                self._complete(request, model, extra or _NOTHING)
            self._open[number] = request
            self._engine.submit(model, request)
        except Exception as error:  # why so wide: every request gets an answer
            self._refused(number, error)

    def _refused(self, number: int, error: Exception) -> None:
        if not isinstance(error, RuntimeFault):
            logger.error("a request of a front end failed", exc_info=error)
        self._end(number)
        self._add(Answer(number, REFUSE, more=More(fault_text(error))))

    def _complete(self, request: InferRequest, model: ModelVersion, extra: Extra) -> None:
        """What few requests have. Raises a RuntimeFault."""
        memory, inputs = self._engine.shared_memory, request.inputs
        for i, item in enumerate(request.plan.inputs):
            place = extra.regions[i] if extra.regions else None
            if place is not None:
                inputs[i] = memory.view(*place, on_device=model.on_device)
            elif item.byte_size < 0:
                count = element_count(item.wire_shape)
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

    # --- answers ---------------------------------------------------------------------------------

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        if self._closed:
            return
        number = request.form
        windows = self._windows.pop(number, None) if self._windows else None
        self._open.pop(number, None)
        if windows is None:
            if not self._deliver_plain(number, outputs):
                layout, sizes = self._write((), outputs)
                self._add(Answer(number, DELIVER, layout, sizes))
            return
        self._placed(number, DELIVER, request.plan.outputs, Response((), outputs), windows)

    def _deliver_plain(self, number: int, outputs: Arrays) -> bool:
        """Whether they are small, look as those of the last answer did, and overtake no other."""
        last = self._last
        if last is None or self.answers or len(last.outputs) != len(outputs):
            return False
        for array, (shape, dtype) in zip(outputs, last.outputs, strict=True):
            if array.shape != shape or array.dtype is not dtype:
                return False
        small = self._small
        small.parts += [array.tobytes() for array in outputs]
        small.size += last.total
        if not self._plain and not self.answers:
            self._wake()
        self._plain += (number, last.number)
        return True

    def fail(self, request: InferRequest, error: Exception) -> None:
        if not self._closed:
            self._end(request.form)
            self._add(Answer(request.form, FAIL, more=More(fault_text(error))))

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if self._closed:
            return
        number, kind = request.form, LAST if final else RESPOND
        windows = self._windows.get(number)
        if final:
            self._end(number)
        if response is None:
            self._add(Answer(number, kind))
        elif response.error is not None:
            self._add(Answer(number, kind, more=More(fault_text(response.error))))
        elif windows is not None:
            self._placed(number, kind, response.names, response, windows)
        else:
            layout, sizes = self._write(response.names, response.arrays)
            more = More(parameters=response.parameters) if response.parameters else None
            self._add(Answer(number, kind, layout, sizes, more))

    def _placed(
        self,
        number: int,
        kind: int,
        names: Sequence[str],
        response: Response,
        windows: Mapping[str, Window],
    ) -> None:
        """An answer of which the client wants a part in memory that it shares: put it there.

        BYTES are written by the front end, which knows what they are on the wire.
        """
        placed = []
        try:
            for i, (name, array) in enumerate(zip(names, response.arrays, strict=True)):
                window = windows.get(name)
                if window is not None and not array.dtype.hasobject:
                    placed.append(i)
                    # why no error here for what is too large: the front end has the words for it.
                    if 0 < array.nbytes <= window.byte_size:
                        window.write(raw_output(array))
        except RuntimeFault as error:
            failed = FAIL if kind == DELIVER else kind
            self._add(Answer(number, failed, more=More(fault_text(error))))
            return
        layout, sizes = self._write(response.names, response.arrays, frozenset(placed))
        more = More(parameters=response.parameters, placed=tuple(placed))
        self._add(Answer(number, kind, layout, sizes, more))

    def _end(self, number: int) -> None:
        self._open.pop(number, None)
        self._windows.pop(number, None)

    def _write(
        self, names: tuple[str, ...], arrays: Arrays, placed: frozenset[int] = frozenset()
    ) -> tuple[int, tuple[int, ...] | None]:
        """The number of their layout, and their sizes where it does not tell."""
        kinds = "".join([array.dtype.char for array in arrays])
        key = (names, tuple([array.shape for array in arrays]), kinds)
        layout = self._known.get(key)
        if layout is None:
            if len(self._known) >= _MOST:
                self._known.clear()
                self._last = None  # why: the other side forgets what is older than its newest
            self._number = layout = self._known[key] = self._number + 1
            self.layouts.append(Layout(layout, *key))
        tail = self.tail
        if "O" not in kinds and not placed:
            if not names and all(0 < array.nbytes < LARGE for array in arrays):
                forms = tuple([(array.shape, array.dtype) for array in arrays])
                self._last = _Layout(layout, forms, sum([array.nbytes for array in arrays]))
            for array in arrays:
                tail.add(raw_output(array), array.nbytes)
            return layout, None
        sizes = []
        for i, array in enumerate(arrays):
            raw: Any = b"" if i in placed else raw_output(array)
            tail.add(raw, len(raw))
            sizes.append(len(raw))
        return layout, tuple(sizes)

    def _add(self, answer: Answer) -> None:
        answers = self.answers
        if not answers and not self._plain:
            self._wake()
        answers.append(answer)

    @property
    def pending(self) -> bool:
        """There are answers to be sent."""
        return bool(self._plain or self.answers)

    def block(self, said: list[Any]) -> tuple[Block, Tail]:
        """What is to be sent with ``said``, which is then forgotten here."""
        block = Block(said, self.layouts, self._plain, self.answers)
        small = self._small
        small.join(self.tail)
        self._begin()
        return block, small

    def _begin(self) -> None:
        """The next block."""
        self.answers: list[Answer] = []
        self.layouts: list[Layout] = []
        self.tail = Tail()
        self._plain: list[int] = []
        self._small = Tail()

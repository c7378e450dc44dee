"""One ensemble request on its way: steps submitted, their answers taken in, outputs sent.

Everything runs in the event loop. Steps that become ready are submitted from one loop and not from
the answer that completed them: models that answer at once would otherwise nest without end.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from time import monotonic_ns

from worker_runtime.core.execution.answers import backend_fault
from worker_runtime.core.scheduling.context import ServedModel
from worker_runtime.core.scheduling.ensemble.flow import Flow, Held, Tensor, Update
from worker_runtime.core.scheduling.ensemble.graph import Step
from worker_runtime.core.scheduling.ensemble.limits import StepLimiter
from worker_runtime.core.scheduling.ensemble.outputs import (
    output_array,
    sequence_parameters,
    step_output,
)
from worker_runtime.core.scheduling.ensemble.shared import Ensemble
from worker_runtime.core.scheduling.ensemble.steps import StepCall, StepMaker, shapes_of
from worker_runtime.core.scheduling.ensemble.timings import StepTimings
from worker_runtime.errors import Cancelled, InvalidArgument, RuntimeFault
from worker_runtime.types.request import InferRequest, ParameterValue, Response

logger = logging.getLogger(__name__)


class EnsembleRun:
    """``spent`` sums the phases of all steps (ns); ``error`` is set once one has failed."""

    def __init__(self, ensemble: Ensemble, request: InferRequest) -> None:
        self.request = request
        self.started_ns = monotonic_ns()
        self.spent = [0, 0, 0]
        self.error: RuntimeFault | None = None
        self._ensemble = ensemble
        self._flow = Flow(ensemble.graph, request.plan.outputs)
        self._models: dict[tuple[str, str], ServedModel] = {}
        self._maker = StepMaker(request)
        # why not in the calls themselves: requests are their sinks' ring, this is where it is cut.
        self._calls: dict[StepCall, InferRequest] = {}
        self._ready: deque[tuple[Step, int]] = deque()
        self._in_flight = 0  # steps that are ready, wait, or run
        self._pumping = False
        self._timings = StepTimings.wished(request)
        self._answered = False
        self._closed = False  # the final answer is out
        self._over = False

    def start(self) -> None:
        """Pin the models, write the inputs, and run the steps that need nothing else."""
        try:
            for step in self._ensemble.graph.steps:
                key = (step.model, step.version)
                if key not in self._models:
                    model = self._ensemble.resolve(*key)
                    model.pin()
                    self._models[key] = model
        except RuntimeFault as error:
            self._failed(error)
            self._settle(None)
            return
        self._advance(self._write_inputs())

    def cancel(self) -> bool:
        """Drop the steps that wait; True when nothing runs any more and the request has failed."""
        self.request.cancelled = True
        for call, request in list(self._calls.items()):
            limiter = self._limiter(call.step)
            if limiter is not None and limiter.withdraw(call):
                del self._calls[call]
                self._in_flight -= 1
                self._failed(self._cancelled())
            else:
                call.model.scheduler.cancel(request)
        if self.error is not None:
            self._settle(None)
        return self._over

    def abandon(self, error: RuntimeFault) -> None:
        """Fail now, whatever still runs."""
        self._ready.clear()
        self._in_flight = 0
        self._failed(error)
        self._settle(None)

    # --- what steps say --------------------------------------------------------------------------

    def answered(
        self, call: StepCall, request: InferRequest, response: Response | None, *, final: bool
    ) -> None:
        """One answer of a step, or (None) only that there are no more."""
        if final:
            self._step_over(call)
        if self._over:
            return
        updates: list[Update] = []
        if response is not None and response.error is not None:
            self._failed(response.error, call.step, shapes_of(request))
        elif response is not None and self.error is None:
            try:
                updates = self._write_outputs(call, request.plan.rows, response)
            except Exception as error:  # why so wide: a request must end, whatever a model gave
                self._failed(backend_fault(error), call.step, shapes_of(request))
        self._advance(updates)

    def failed(self, call: StepCall, request: InferRequest, error: Exception) -> None:
        self._step_over(call)
        if self._over:
            return
        self._failed(backend_fault(error), call.step, shapes_of(request))
        self._advance([])

    def _step_over(self, call: StepCall) -> None:
        request = self._calls.pop(call, None)
        if request is None:
            return
        self._in_flight -= 1
        self._release(call.step)
        if request.timings is not None:
            if self._timings is not None:
                self._timings.add(call.step, request)
            start, fed, computed, end = request.timings
            self.spent[0] += fed - start
            self.spent[1] += computed - fed
            self.spent[2] += end - computed

    # --- the flow --------------------------------------------------------------------------------

    def _write_inputs(self) -> list[Update]:
        request = self.request
        plan = request.plan
        rows = plan.rows if self._ensemble.batching else 0
        updates, given = [], set()
        for item, buffer in zip(plan.inputs, request.inputs, strict=True):
            given.add(item.name)
            tensor = Tensor(item.datatype.name, item.shape, buffer, rows)
            updates.append(self._flow.put(item.name, tensor))
        for name in self._ensemble.graph.optional:
            if name not in given:
                updates.append(self._flow.put(name, None))
        return [update for update in updates if update is not None]

    def _write_outputs(self, call: StepCall, rows: int, response: Response) -> list[Update]:
        """Raises InvalidArgument when its sequence parameters have the wrong type."""
        note = sequence_parameters(response.parameters, call.sequence)
        if not call.model.signature.max_batch_size:
            rows = 0
        given = dict(zip(response.names, response.arrays, strict=True))
        specs = call.specs
        updates = []
        for source, tensor in call.step.outputs:
            array = given.get(source)
            value = None if array is None else step_output(specs[source], array, rows)
            updates.append(self._flow.put(tensor, value, note))
        return [update for update in updates if update is not None]

    def _advance(self, updates: list[Update]) -> None:
        """Find what can run or be sent now."""
        response: Response | None = None
        if self.error is None and updates:
            steps = self._flow.ready(updates)
            self._ready.extend(steps)
            self._in_flight += len(steps)
            iteration = self._flow.answer(updates)
            if iteration is not None:
                response = self._answer(self._flow.take_answer(iteration))
        self._settle(response)
        self._pump()

    def _pump(self) -> None:
        if self._pumping:
            return
        self._pumping = True
        while self._ready:
            step, iteration = self._ready.popleft()
            if self.error is None:
                self._launch(step, iteration)
            else:
                self._in_flight -= 1
                self._settle(None)
        self._pumping = False

    def _launch(self, step: Step, iteration: int) -> None:
        model = self._models[step.model, step.version]
        inputs = self._flow.take(step, iteration)
        try:
            if self.request.cancelled:
                raise self._cancelled()
            call, request = self._maker.call(self, step, model, inputs)
        except Exception as error:  # why so wide: a reload may have changed the model's tensors
            self._in_flight -= 1
            tensors = [(name, held.tensor) for name, held in inputs]
            shapes = [(name, t.shape) for name, t in tensors if t is not None]
            self._failed(backend_fault(error), step, shapes)
            self._settle(None)
            return
        self._calls[call] = request
        limiter = self._limiter(step)
        if limiter is None or limiter.acquire(call):
            self.submit(call)

    def submit(self, call: StepCall) -> None:
        """Hand a step to the scheduler of its model."""
        if self.error is not None:
            self._step_over(call)
            self._settle(None)
            return
        request = self._calls[call]
        request.arrived_ns = monotonic_ns()
        if self.request.trace is not None:
            self.request.trace.follow(request)
        try:
            call.model.scheduler.submit(request)
        except Exception as error:  # why so wide: the loop that submits must go on
            self.failed(call, request, error)
            if request.trace is not None:
                request.trace.abandon(request)

    def _limiter(self, step: Step) -> StepLimiter[StepCall] | None:
        limiters = self._ensemble.limiters
        return limiters[step.index] if limiters else None

    def _release(self, step: Step) -> None:
        limiter = self._limiter(step)
        following = limiter.release() if limiter is not None else None
        if following is not None:
            # why not at once: a line of steps that answer at once would nest as deep as it is long.
            asyncio.get_running_loop().call_soon(following.run.submit, following)

    # --- the end ---------------------------------------------------------------------------------

    def _answer(self, outputs: list[tuple[str, Held]]) -> Response | None:
        try:
            return self._response(outputs)
        except Exception as error:  # why so wide: a model gave a shape that cannot be
            self._failed(backend_fault(error))
            return None

    def _response(self, outputs: list[tuple[str, Held]]) -> Response:
        """Fewer outputs than were asked for when a model gave fewer."""
        request, ensemble = self.request, self._ensemble
        names, arrays = [], []
        parameters: dict[str, ParameterValue] | None = None
        for name, held in outputs:
            if held.tensor is None:
                continue
            names.append(name)
            spec = ensemble.outputs[name]
            rows = request.plan.rows if ensemble.batching else 0
            arrays.append(output_array(spec, held.tensor, rows))
            if held.sequence is not None:
                number, start, end = held.sequence
                parameters = {"sequence_id": number, "sequence_start": start, "sequence_end": end}
        if self._timings is not None:
            parameters = self._timings.beside(parameters)
        return Response(tuple(names), arrays, parameters)

    def _settle(self, response: Response | None) -> None:
        """Send what there is, and end the request when nothing is under way."""
        if self._over:
            return
        last = not self._in_flight
        if last:
            self._end(response)
        if self.error is None and response is not None:
            # why final though steps may run on: a model that is not decoupled answers once.
            self._send(response, final=last or not self._ensemble.decoupled)
        elif last and not self._closed:
            if self.error is not None:
                self._fail(self.error)
            else:
                self._send(None, final=True)

    def _end(self, response: Response | None) -> None:
        self._over = True
        missing = response is None and not self._answered and not self._ensemble.decoupled
        if self.error is None and missing:
            self._failed(self._deadlock())
        for model in self._models.values():
            model.unpin()
        self._ensemble.ended(self)

    def _send(self, response: Response | None, *, final: bool) -> None:
        first = self._ensemble.first_response
        if first is not None and not self._answered and response is not None:
            first.observe_ns(monotonic_ns() - self.request.arrived_ns)
        self._answered = True
        self._closed = final
        try:
            self.request.sink.respond(self.request, response, final=final)
        except Exception:  # why: one broken connection must not cost the others their answers
            logger.exception("an answer of ensemble '%s' could not be written", self._name)

    def _fail(self, error: RuntimeFault) -> None:
        try:
            self.request.sink.fail(self.request, error)
        except Exception:
            logger.exception("an error of ensemble '%s' could not be written", self._name)

    @property
    def _name(self) -> str:
        return self._ensemble.graph.name

    def _failed(
        self,
        error: RuntimeFault,
        step: Step | None = None,
        shapes: Sequence[tuple[str, tuple[int, ...]]] = (),
    ) -> None:
        """Note the first error, in the words of the ensemble; the log names the step."""
        if self.error is not None:
            return
        self.error = type(error)(f"in ensemble '{self._name}', {error}")
        if step is not None:
            logger.info(
                "[request id: %s] ensemble '%s', %s with %s failed: %s",
                self.request.id or "<id_unknown>",
                self._name,
                step,
                ", ".join(f"{name} {list(shape)}" for name, shape in shapes) or "no inputs",
                error,
            )

    def _cancelled(self) -> RuntimeFault:
        return Cancelled("the request was cancelled")

    def _deadlock(self) -> RuntimeFault:
        return InvalidArgument(
            "unexpected deadlock, at least one output is not set while no more ensemble steps can "
            "be made"
        ).for_request(self.request.id)

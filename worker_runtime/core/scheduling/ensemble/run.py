"""One ensemble request on its way: steps submitted, their answers taken in, outputs sent.

Everything runs in the event loop. Steps that become ready are submitted from one loop and not from
the answer that completed them: models that answer at once would otherwise nest without end.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from time import monotonic_ns
from typing import cast

from worker_runtime.core.execution.answers import backend_fault
from worker_runtime.core.scheduling.base import ServedModel
from worker_runtime.core.scheduling.ensemble.graph import (
    NO_SEQUENCE,
    Due,
    Flow,
    SequenceNote,
    Step,
    Tensor,
)
from worker_runtime.core.scheduling.ensemble.outputs import (
    output_array,
    sequence_parameters,
    step_output,
)
from worker_runtime.core.scheduling.ensemble.steps import (
    Ensemble,
    StepLimiter,
    StepRecipe,
    StepTimings,
    shapes_of,
)
from worker_runtime.errors import Cancelled, InvalidArgument, RuntimeFault
from worker_runtime.observability.requests.watched import STEP, answered, below, ended
from worker_runtime.types.request import (
    Arrays,
    InferRequest,
    ParameterValue,
    Response,
)

logger = logging.getLogger(__name__)


class EnsembleRun:
    """``spent`` sums the phases of all steps (ns); ``error`` is set once one has failed."""

    __slots__ = (
        "__weakref__",
        "_answered",
        "_calls",
        "_closed",
        "_ensemble",
        "_flow",
        "_in_flight",
        "_models",
        "_over",
        "_pumping",
        "_ready",
        "_recipes",
        "_sequence",
        "_timings",
        "error",
        "request",
        "spent",
        "started_ns",
    )

    def __init__(self, ensemble: Ensemble, request: InferRequest) -> None:
        self.request = request
        self.started_ns = monotonic_ns()
        self.spent = [0, 0, 0]
        self.error: RuntimeFault | None = None
        self._ensemble = ensemble
        self._flow = Flow(ensemble.graph.course(request.plan.outputs))
        self._models: list[ServedModel] = []
        self._recipes: list[StepRecipe] = []
        part = request.sequence
        self._sequence = NO_SEQUENCE if part is None else (part.id, part.start, part.end)
        # why taken out when they are over: they are their sink's ring, this is where it is cut.
        self._calls: set[InferRequest] = set()
        self._ready: deque[Due] = deque()
        self._in_flight = 0  # steps that are ready, wait, or run
        self._pumping = False
        self._timings = StepTimings.wished(request)
        self._answered = False
        self._closed = False  # the final answer is out
        self._over = False

    def start(self) -> None:
        """Pin the models, write the inputs, and run the steps that need nothing else."""
        ensemble, models = self._ensemble, self._models
        try:
            for name, version in ensemble.graph.models:
                model = ensemble.resolve(name, version)
                model.pin()
                models.append(model)
        except RuntimeFault as error:
            self._failed(error)
            self._settle(None)
            return
        self._recipes = ensemble.recipes(models)
        self._write_inputs()
        self._advance()

    def cancel(self) -> bool:
        """Drop the steps that wait; True when nothing runs any more and the request has failed."""
        self.request.cancelled = True
        limiters = self._ensemble.limiters
        for call in list(self._calls):
            if limiters and limiters[call.form[0].step.index].withdraw(call):
                self._calls.discard(call)
                self._in_flight -= 1
                self._failed(self._cancelled())
            else:
                call.model.scheduler.cancel(call)
        if self.error is not None:
            self._settle(None)
        return self._over

    def abandon(self, error: RuntimeFault) -> None:
        """Fail now, whatever still runs."""
        self._ready.clear()
        self._in_flight = 0
        self._failed(error)
        self._settle(None)

    # --- the sink of the steps -------------------------------------------------------------------

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self._step_over(request)
        if self._over:
            return
        if self.error is None:
            recipe, sequence = request.form
            rows = request.plan.rows if recipe.batching else 0
            put = self._flow.put
            try:
                for (_, name, datatype), array in zip(recipe.outputs, outputs, strict=True):
                    put(name, step_output(datatype, array, rows, sequence))
            except Exception as error:  # why so wide: a request must end, whatever a model gave
                self._failed(backend_fault(error), recipe.step, shapes_of(request))
        self._advance()

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if final:
            self._step_over(request)
        if self._over:
            return
        step = request.form[0].step
        if response is not None and response.error is not None:
            self._failed(response.error, step, shapes_of(request))
        elif response is not None and self.error is None:
            try:
                self._write_answer(request, response)
            except Exception as error:  # why so wide: as above
                self._failed(backend_fault(error), step, shapes_of(request))
        self._advance()

    def fail(self, request: InferRequest, error: Exception) -> None:
        self._step_over(request)
        if self._over:
            return
        self._failed(backend_fault(error), request.form[0].step, shapes_of(request))
        self._advance()

    def _step_over(self, call: InferRequest) -> None:
        if call not in self._calls:
            return
        self._calls.remove(call)
        self._in_flight -= 1
        limiters = self._ensemble.limiters
        if limiters:
            self._release(limiters[call.form[0].step.index])
        if call.timings is not None:
            if self._timings is not None:
                self._timings.add(call.form[0].step, call)
            start, fed, computed, end = call.timings
            spent = self.spent
            spent[0] += fed - start
            spent[1] += computed - fed
            spent[2] += end - computed

    # --- the flow --------------------------------------------------------------------------------

    def _write_inputs(self) -> None:
        request, put, optional = self.request, self._flow.put, self._ensemble.graph.optional
        plan = request.plan
        rows = plan.rows if self._ensemble.batching else 0
        for item, buffer in zip(plan.inputs, request.inputs, strict=True):
            put(item.name, Tensor((item.datatype.name, item.shape, rows), buffer))
        if optional:
            given = {item.name for item in plan.inputs}
            for name in optional:
                if name not in given:
                    put(name, Tensor(None))

    def _write_answer(self, call: InferRequest, response: Response) -> None:
        """What an answer leaves out stays away all along.

        Raises InvalidArgument when its sequence parameters have the wrong type.
        """
        recipe, inherited = call.form
        note = sequence_parameters(response.parameters, inherited)
        rows = call.plan.rows if recipe.batching else 0
        given = dict(zip(response.names, response.arrays, strict=True))
        for source, name, datatype in recipe.outputs:
            array = given.get(source)
            left_out = Tensor(None, None, note)
            value = left_out if array is None else step_output(datatype, array, rows, note)
            self._flow.put(name, value)

    def _advance(self) -> None:
        """Find what can run or be sent now."""
        flow = self._flow
        response: Response | None = None
        if self.error is None:
            due = flow.due
            if due:
                if len(due) > 1:
                    due.sort()
                self._ready.extend(due)
                self._in_flight += len(due)
                due.clear()
            iteration = flow.answered
            if iteration is not None:
                flow.answered = None
                response = self._answer(iteration)
        if response is not None or not self._in_flight:
            self._settle(response)
        if not self._pumping:
            self._pump()

    def _pump(self) -> None:
        self._pumping = True
        ready = self._ready
        while ready:
            if self.error is None:
                self._launch(*ready.popleft())
            else:
                ready.popleft()
                self._in_flight -= 1
                self._settle(None)
        self._pumping = False

    def _launch(self, index: int, iteration: int) -> None:
        recipe = self._recipes[index]
        tensors = self._flow.take(recipe.tensors, iteration)
        try:
            if self.request.cancelled:
                raise self._cancelled()
            model = self._models[self._ensemble.places[index]]
            call = recipe.request(model, self.request, self, self._sequence, tensors)
        except Exception as error:  # why so wide: a reload may have changed the model's tensors
            self._in_flight -= 1
            self._failed(backend_fault(error), recipe.step, recipe.shapes(tensors))
            self._settle(None)
            return
        self._calls.add(call)
        limiters = self._ensemble.limiters
        if not limiters or limiters[index].acquire(call):
            self.submit(call)

    def submit(self, call: InferRequest) -> None:
        """Hand a step to the scheduler of its model."""
        if self.error is not None:
            self._step_over(call)
            self._settle(None)
            return
        call.arrived_ns = monotonic_ns()
        call.watched = self.request.watched and below(STEP, (self.request,))
        if self.request.trace is not None:
            self.request.trace.follow(call)
        try:
            call.model.scheduler.submit(call)
        except Exception as error:  # why so wide: the loop that submits must go on
            self.fail(call, error)
            ended(call, error)
            if call.trace is not None:
                call.trace.abandon(call)

    def _release(self, limiter: StepLimiter[InferRequest]) -> None:
        following = limiter.release()
        if following is not None:
            # why not at once: a line of steps that answer at once would nest as deep as it is long.
            run = cast(EnsembleRun, following.sink)
            asyncio.get_running_loop().call_soon(run.submit, following)

    # --- the end ---------------------------------------------------------------------------------

    def _answer(self, iteration: int) -> Response | None:
        try:
            return self._response(iteration)
        except Exception as error:  # why so wide: a model gave a shape that cannot be
            self._failed(backend_fault(error))
            return None

    def _response(self, iteration: int) -> Response:
        """Fewer outputs than were asked for when a model gave fewer."""
        ensemble, names = self._ensemble, self.request.plan.outputs
        tensors = self._flow.take(names, iteration)
        arrays, given = [], []
        note: SequenceNote | None = None
        for name, tensor in zip(names, tensors, strict=True):
            form = tensor.form
            if form is None:
                continue
            given.append(name)
            spec = ensemble.outputs[name]
            arrays.append(output_array(spec, form, tensor.data, batching=ensemble.batching))
            if tensor.sequence is not None:
                note = tensor.sequence
        parameters: dict[str, ParameterValue] | None = None
        if note is not None:
            number, start, end = note
            parameters = {"sequence_id": number, "sequence_start": start, "sequence_end": end}
        if self._timings is not None:
            parameters = self._timings.beside(parameters)
        return Response(names if len(given) == len(names) else tuple(given), arrays, parameters)

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
        models, self._models = self._models, []
        for model in models:
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
        answered(self.request, response, final=final)

    def _fail(self, error: RuntimeFault) -> None:
        try:
            self.request.sink.fail(self.request, error)
        except Exception:
            logger.exception("an error of ensemble '%s' could not be written", self._name)
        ended(self.request, error)

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
                str(error),  # why: the error itself holds the frames that it passed, and so us
            )

    def _cancelled(self) -> RuntimeFault:
        return Cancelled("the request was cancelled")

    def _deadlock(self) -> RuntimeFault:
        return InvalidArgument(
            "unexpected deadlock, at least one output is not set while no more ensemble steps can "
            "be made"
        ).for_request(self.request.id)

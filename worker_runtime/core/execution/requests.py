"""Batches for models that take their requests apart, and may answer each of them many times."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic_ns
from typing import NamedTuple, Protocol

import numpy as np

from worker_runtime.backends.base import Array, RequestInstance, RequestTrace
from worker_runtime.core.execution.answers import Answers, Times, backend_fault
from worker_runtime.core.execution.executor import Batch, arrays_of, host_arrays, restored
from worker_runtime.core.execution.windows import placed
from worker_runtime.core.statistics import FailureReason, ResponseEnd
from worker_runtime.errors import Cancelled, Internal, RuntimeFault
from worker_runtime.types.request import InferRequest, ParameterValue, Response, SequencePart
from worker_runtime.types.signature import Signature, TensorSpec

logger = logging.getLogger(__name__)
_AT_ONCE = 64  # deliveries in one turn of the loop, some 10 us each and more
_NO_PARAMETERS: Mapping[str, ParameterValue] = {}


class Owner(Protocol):
    """Hears what becomes of a request; called from any thread."""

    def answered(
        self,
        call: "ActiveRequest",
        response: Response | None,
        *,
        final: bool,
        started_ns: int,
        output_ns: int,
    ) -> None: ...

    def skipped(self, call: "ActiveRequest", started_ns: int) -> None: ...


class ActiveRequest:
    """One request in the hands of a model: what `BackendRequest` promises."""

    __slots__ = (
        "_inputs",
        "_owner",
        "again",
        "answer",
        "detached",
        "ended",
        "index",
        "last_ns",
        "over",
        "raised",
        "released",
        "request",
    )

    def __init__(self, request: InferRequest, owner: Owner, now_ns: int) -> None:
        self.request = request
        self._owner = owner
        self._inputs: dict[str, Array] | None = None
        self.over = False  # the model's side has sent the final answer
        self.ended = False  # the loop's side has told the sink so
        self.released = False  # the batch is over
        self.again = False  # the model wants it in a later batch of its sequence
        self.detached = False  # its answer is on its own: it may come before or after the batch
        self.raised: RuntimeFault | None = None  # why it failed without an answer of its own
        self.answer: Response | None = None  # the one of a model that is not decoupled
        self.index = 0
        self.last_ns = now_ns

    @property
    def id(self) -> str:
        return self.request.id

    @property
    def inputs(self) -> Mapping[str, Array]:
        if self._inputs is None:
            self._inputs = arrays_of(self.request)
        return self._inputs

    def host_inputs(self, but: Collection[str]) -> Mapping[str, Array]:
        return host_arrays(self.request, but)

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.request.plan.outputs

    @property
    def parameters(self) -> Mapping[str, ParameterValue]:
        return self.request.parameters or _NO_PARAMETERS

    @property
    def sequence(self) -> SequencePart | None:
        return self.request.sequence

    @property
    def timeout_ns(self) -> int:
        return self.request.timeout_ns

    @property
    def priority(self) -> int:
        return self.request.priority

    @property
    def trace(self) -> RequestTrace | None:
        found: RequestTrace | None = self.request.trace
        return found

    @property
    def source(self) -> InferRequest:
        return self.request

    @property
    def cancelled(self) -> bool:
        return self.request.cancelled

    def send(
        self,
        response: Response | None,
        *,
        final: bool,
        started_ns: int = 0,
        output_ns: int = 0,
    ) -> None:
        if self.over:
            raise Internal("a response was sent after the final one")
        if response is None and not final:
            raise Internal("a response without outputs and without an error can only be the final")
        self.over = final
        self._owner.answered(
            self, response, final=final, started_ns=started_ns, output_ns=output_ns
        )

    def skip(self, *, started_ns: int = 0) -> None:
        self._owner.skipped(self, started_ns)

    def detach(self) -> None:
        self.detached = True

    def reschedule(self) -> None:
        self.again = True


class _Delivery(NamedTuple):
    """From a model's thread to the loop: one answer, and how it counts (None: it does not)."""

    call: ActiveRequest
    response: Response | None
    final: bool
    end: ResponseEnd | None
    number: int
    times: tuple[int, int, int]


class RequestExecutor:
    """``attempt`` runs in instance threads, answers may come from any thread, the rest is loop.

    Models that are not decoupled answer when their batch is over, all requests at once. Those
    that are, and detached requests, may be answered before and after: deliveries to the loop, one
    wake-up for many.
    """

    def __init__(
        self,
        signature: Signature,
        answers: Answers,
        loop: asyncio.AbstractEventLoop,
        idle: Callable[[], None],
        *,
        decoupled: bool,
    ) -> None:
        self.open = 0
        # Takes what a model wants to see again; a scheduler that can do so sets it.
        self.again: Callable[[InferRequest], None] | None = None
        self._model = signature.model
        self._idle = idle  # called when ``open`` falls to 0
        self._silent = Internal(
            f"model '{signature.model}' ended the execution without a final response"
        )
        self._batched = signature.max_batch_size > 0
        self._specs = {spec.name: spec for spec in signature.outputs}
        self._answers = answers
        self._loop = loop
        self._decoupled = decoupled
        self._deliveries: deque[_Delivery] = deque()
        self._woken = False

    # --- in threads ------------------------------------------------------------------------

    def attempt(
        self, instance: RequestInstance, batch: Batch
    ) -> tuple[list[ActiveRequest], None, Times]:
        start = monotonic_ns()
        calls = [ActiveRequest(request, self, start) for request in batch]
        marks = None
        try:
            marks = instance.execute_requests(calls)
        except Exception as error:  # why so wide: a model's errors belong to its requests
            fault = backend_fault(error)
            # why: its frames hold the requests, which hold it, and what clients want back
            fault.__traceback__ = None
            for call in calls:
                if not call.over:
                    call.over, call.raised = True, fault
        if not self._decoupled:
            for call in calls:
                if not (call.over or call.again or call.detached):
                    call.over, call.raised = True, self._silent
        now = monotonic_ns()
        fed, computed = marks or (start, now)
        return calls, None, (start, fed, computed, now)

    def answered(
        self,
        call: ActiveRequest,
        response: Response | None,
        *,
        final: bool,
        started_ns: int,
        output_ns: int,
    ) -> None:
        """An answer of ``call``; the times are those of `BackendRequest.send`."""
        if response is not None and response.error is None:
            response = self._wanted(call.request, response)
            if call.request.device_windows and not self._decoupled:
                response = placed(call.request.device_windows, response)
        if not (self._decoupled or call.detached):
            if response is not None:
                if call.answer is not None:
                    response = Response(error=Internal("expected a single response, got 2"))
                call.answer = response
            return
        end = None
        if response is not None and self._decoupled:
            end = _kind(call, response)
        self._post(call, response, final, end, started_ns, output_ns)

    def skipped(self, call: ActiveRequest, started_ns: int) -> None:
        if self._decoupled:
            self._post(call, None, False, ResponseEnd.EMPTY, started_ns, 0)

    def _post(
        self,
        call: ActiveRequest,
        response: Response | None,
        final: bool,
        end: ResponseEnd | None,
        started_ns: int,
        output_ns: int,
    ) -> None:
        now, index = monotonic_ns(), call.index
        times = (started_ns or call.last_ns, output_ns or now, now)
        if end is not None:
            call.index, call.last_ns = index + 1, now
        self._deliveries.append(_Delivery(call, response, final, end, index, times))
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._read)
            except RuntimeError:  # the loop is closed: the process is going away
                logger.debug("an answer came after the event loop had ended")

    def _wanted(self, request: InferRequest, response: Response) -> Response:
        """The response with the outputs that were asked for, in their wire shapes."""
        names, arrays = [], []
        for name, array in zip(response.names, response.arrays, strict=True):
            if name in request.plan.outputs:
                names.append(name)
                arrays.append(self._on_wire(self._specs[name], array))
        return Response(tuple(names), arrays, response.parameters)

    def _on_wire(self, spec: TensorSpec, array: Array) -> Array:
        if array.dtype.kind in "US" and not spec.datatype.item_size:
            array = array.astype(object)
        if spec.reshape is not None:
            array = restored(array, spec.dims, spec.reshape, batched=self._batched)
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    # --- in the loop -------------------------------------------------------------------------

    def settle(
        self,
        batch: Batch,
        outcome: Sequence[ActiveRequest],
        fault: RuntimeFault | None,  # noqa: ARG002 # what a batch raised is with its requests
        times: Times,
    ) -> None:
        answers = self._answers
        done = [call.request for call in outcome if call.raised is None]
        answers.count(done, times, sum([request.plan.rows for request in batch]))
        for call in outcome:
            if call.again and not call.over:
                self._send_again(call)
            elif self._decoupled or call.detached:
                self._release(call, times)
            elif call.raised is not None:
                answers.execution_failed(call.raised, times[0])
                answers.fail(call.request, call.raised, FailureReason.BACKEND)
            else:
                self._answer(call, times)

    def _send_again(self, call: ActiveRequest) -> None:
        call.ended = True  # whatever is still sent in its name comes too late
        if self.again is not None:
            self.again(call.request)
            return
        fault = Internal(
            "Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, but model "
            f"'{self._model}' has no iterative sequences"
        )
        self._answers.fail(call.request, fault, FailureReason.BACKEND)

    def _answer(self, call: ActiveRequest, times: Times) -> None:
        """The one answer of a request whose model is not decoupled."""
        request, response = call.request, call.answer
        if response is not None and response.error is not None:
            self._answers.execution_failed(response.error, times[0])
            self._answers.statistics.error_answer_count += _is_its_own(response)
            self._answers.send_error(request, response.error)
        elif response is not None and self._plain(request, response):
            self._answers.deliver(request, response.arrays)
        else:
            self._answers.respond(request, response, final=True)

    def _plain(self, request: InferRequest, response: Response) -> bool:
        """It can go the short way: all that was asked for, in order, as configured."""
        return (
            not response.parameters
            and response.names == request.plan.outputs
            and all(
                array.dtype == self._specs[name].datatype.dtype
                for name, array in zip(response.names, response.arrays, strict=True)
            )
        )

    def _release(self, call: ActiveRequest, times: Times) -> None:
        """The batch is over of a request that is answered apart from it, and may not be yet."""
        call.released = True
        if not self._answers.awaits(call.request):
            call.ended = True
        elif call.raised is not None and not call.ended:
            call.ended = True
            self._answers.execution_failed(call.raised, times[0])
            self._answers.fail(call.request, call.raised, FailureReason.BACKEND)
        elif not call.ended:
            self.open += 1

    def _read(self) -> None:
        """Hand on what has come; what comes meanwhile has to wait for the loop's next turn."""
        self._woken = False
        deliveries, statistics = self._deliveries, self._answers.statistics
        for _ in range(min(len(deliveries), _AT_ONCE)):
            call, response, final, end, number, times = deliveries.popleft()
            if not self._answers.awaits(call.request):
                continue
            if response is not None and response.error is not None:
                self._answers.execution_failed(response.error, times[0])
            if end is not None:
                statistics.responded(number, end, times)
                if not number and statistics.first_response is not None:
                    statistics.first_response.observe_ns(times[2] - call.request.arrived_ns)
            if call.ended or (response is None and not final):
                continue
            if final:
                call.ended = True
                statistics.error_answer_count += _is_its_own(response)
            if call.request.trace is not None:
                _show_times(call.request, times)
            self._answers.respond(call.request, response, final=final)
            if final and call.released:
                self.open -= 1
                if not self.open:
                    self._idle()
        if deliveries and not self._woken:
            self._woken = True
            self._loop.call_soon(self._read)


def _show_times(request: InferRequest, times: tuple[int, int, int]) -> None:
    """For a trace, which may end before the batch does: from the first start to this answer."""
    start, output, end = times
    first = request.timings[0] if request.timings else start
    request.timings = (first, first, output, end)


def _is_its_own(response: Response | None) -> bool:  # the model's error, not a client's going
    error = None if response is None else response.error
    return error is not None and not isinstance(error, Cancelled)


def _kind(call: ActiveRequest, response: Response) -> ResponseEnd:
    if isinstance(response.error, Cancelled) or call.request.cancelled:
        return ResponseEnd.CANCEL
    return ResponseEnd.FAIL if response.error is not None else ResponseEnd.SUCCESS

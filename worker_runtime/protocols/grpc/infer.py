"""ModelInfer: one request, one answer."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from worker_runtime.errors import Internal, ShuttingDown, Unsupported
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.grpc.answers import Message as Answer
from worker_runtime.protocols.grpc.answers import aligned, answer
from worker_runtime.protocols.grpc.requests import Decoder, Incoming, incoming
from worker_runtime.protocols.grpc.status import as_fault, only_busy, status_of
from worker_runtime.protocols.grpc.transport import Call, Message
from worker_runtime.protocols.slices import Later, Slices, Steps
from worker_runtime.types.request import Arrays, InferRequest, Response

T = TypeVar("T")
STOPPING = "GRPC server is shutting down and has stopped accepting new requests."


class UnaryInfer:
    """The handler of one call, and the sink of its request."""

    __slots__ = ("_begun", "_call", "_decoder", "_engine", "_held", "_request", "_slices")

    def __init__(self, engine: Engine, decoder: Decoder, slices: Slices, call: Call) -> None:
        self._engine = engine
        self._decoder = decoder
        self._slices = slices
        self._begun = False  # its message has come
        self._call: Call | None = call
        self._request: InferRequest | None = None
        self._held: Response | None = None  # an answer that did not say it was the last

    # --- for the transport -----------------------------------------------------------------------

    @property
    def expects(self) -> bool:
        return not self._begun

    def message(self, data: Message) -> None:
        call = self._call
        if call is None:
            return
        if self._begun:
            call.pause()  # a unary call has one message; a further one means nothing
            return
        self._begun = True
        try:
            if self._engine.stopping:
                raise ShuttingDown(STOPPING)
            try:
                request = incoming(data)
            except Later as later:
                self._run(later.steps, self._take)
                return
            self._take(request)
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._finish(as_fault(error))

    def _take(self, request: Incoming) -> None:
        call, engine, decoder = self._call, self._engine, self._decoder
        if call is None:
            return
        try:
            model = decoder.model(request)
            if model.decoupled:
                raise Unsupported(
                    "ModelInfer RPC doesn't support models with decoupled transaction policy"
                )
            try:
                decoded = decoder.decode(model, request, self, call.head)
            except Later as later:
                self._run(later.steps, partial(self._submit, model))
                return
            self._request = decoded
            engine.submit(model, decoded)
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._finish(as_fault(error))

    def half_close(self) -> None:
        if not self._begun and self._call is not None:
            self._finish(Internal("the call ended without a message"))

    def cancel(self) -> None:
        request, self._call = self._request, None
        if request is not None:
            self._engine.cancel(request)
        self._request = None

    def drained(self) -> None:
        return

    # --- for the engine --------------------------------------------------------------------------

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        call = self._call
        if call is None:
            return  # the client has gone
        try:
            parts, size = aligned(request, outputs)
            self._call = self._request = None
            call.answer(parts, size)
        except Later as later:
            self._request = None
            self._run(later.steps, self._answer)
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._finish(as_fault(error))

    def fail(self, request: InferRequest, error: Exception) -> None:  # noqa: ARG002 # a Sink's shape
        self._finish(error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if response is not None and self._held is not None:
            response = Response(error=Internal("expected a single response, got 2"))
        if not final:
            self._held = response
            return
        if response is None:
            response = self._held
        self._held = None
        if self._call is None:
            return
        try:
            if response is None:
                raise Internal("received an unexpected null response")
            if response.error is not None:
                raise response.error
            self._answer(answer(request, response.names, response.arrays, response.parameters))
        except Later as later:
            self._request = None
            self._run(later.steps, self._answer)
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._finish(as_fault(error))

    # --- in slices -------------------------------------------------------------------------------

    def _run(self, steps: Steps[T], done: Callable[[T], None]) -> None:
        self._slices.run(
            steps,
            wanted=lambda: self._call is not None,
            done=done,
            failed=lambda error: self._finish(as_fault(error)),
        )

    def _submit(self, model: Model, request: InferRequest) -> None:
        self._request = request
        self._engine.submit(model, request)

    # --- ends ------------------------------------------------------------------------------------

    def _answer(self, answer: Answer) -> None:
        call, self._call, self._request = self._call, None, None
        if call is not None:
            call.answer(*answer)

    def _finish(self, error: Exception) -> None:
        call, self._call, self._request = self._call, None, None
        if call is not None:
            call.finish(status_of(error), str(error), late=only_busy(error))

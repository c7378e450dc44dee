"""ModelInfer: one request, one answer."""

from worker_runtime.errors import Internal, ShuttingDown, Unsupported
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.answers import aligned, answer
from worker_runtime.protocols.grpc.requests import Decoder, incoming
from worker_runtime.protocols.grpc.status import as_fault, only_busy, status_of
from worker_runtime.protocols.grpc.transport import Call, Message, Parts
from worker_runtime.types.request import Arrays, InferRequest, Response

STOPPING = "GRPC server is shutting down and has stopped accepting new requests."


class UnaryInfer:
    """The handler of one call, and the sink of its request."""

    __slots__ = ("_call", "_decoder", "_engine", "_held", "_request")

    def __init__(self, engine: Engine, decoder: Decoder, call: Call) -> None:
        self._engine = engine
        self._decoder = decoder
        self._call: Call | None = call
        self._request: InferRequest | None = None
        self._held: Response | None = None  # an answer that did not say it was the last

    # --- for the transport -----------------------------------------------------------------------

    @property
    def expects(self) -> bool:
        return self._request is None

    def message(self, data: Message) -> None:
        call = self._call
        if call is None:
            return
        if self._request is not None:
            call.pause()  # a unary call has one message; a further one means nothing
            return
        engine, decoder = self._engine, self._decoder
        try:
            if engine.stopping:
                raise ShuttingDown(STOPPING)
            request = incoming(data)
            model = decoder.model(request)
            if model.decoupled:
                raise Unsupported(
                    "ModelInfer RPC doesn't support models with decoupled transaction policy"
                )
            self._request = decoded = decoder.decode(model, request, self, call.head)
            engine.submit(model, decoded)
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._finish(as_fault(error))

    def half_close(self) -> None:
        if self._request is None and self._call is not None:
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
            self._answer(*answer(request, response.names, response.arrays, response.parameters))
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._finish(as_fault(error))

    # --- ends ------------------------------------------------------------------------------------

    def _answer(self, parts: Parts, size: int) -> None:
        call, self._call, self._request = self._call, None, None
        if call is not None:
            call.answer(parts, size)

    def _finish(self, error: Exception) -> None:
        call, self._call, self._request = self._call, None, None
        if call is not None:
            call.finish(status_of(error), str(error), late=only_busy(error))

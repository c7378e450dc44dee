"""ModelStreamInfer: any number of requests and models on one call.

Errors travel inside the stream, which goes on. Requests of ordinary models are answered in the
order in which they came, those of decoupled models whenever their model has something to say.
"""

from collections import deque
from functools import partial

from worker_runtime.errors import Internal, RuntimeFault, ShuttingDown
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.grpc.answers import (
    aligned,
    answer,
    empty_final,
    failure,
    streamed,
    streamed_later,
)
from worker_runtime.protocols.grpc.infer import STOPPING
from worker_runtime.protocols.grpc.requests import Decoder, GrpcForm, Incoming, incoming
from worker_runtime.protocols.grpc.status import as_fault, only_busy, status_of
from worker_runtime.protocols.grpc.transport import Call, Message, Parts
from worker_runtime.protocols.slices import InTurn, Later, Slices, Steps
from worker_runtime.types.request import Arrays, InferRequest, Response

_STRICT = ("triton_grpc_error", "true")
_MAX_AHEAD = 1024  # requests of one stream that may be in the works
_MAX_AHEAD_BYTES = 256 * 1024 * 1024  # of them, unpacked; a larger one may be alone


class StreamInfer:
    """The handler of one stream."""

    def __init__(self, engine: Engine, decoder: Decoder, slices: Slices, call: Call) -> None:
        self.engine = engine
        self.slices = slices
        self._decoder = decoder
        self._call: Call | None = call
        self._strict = _STRICT in call.head.metadata
        self._order: deque[StreamedRequest] = deque()  # ordinary requests that are not answered
        self._open: set[StreamedRequest] = set()
        self._ahead = 0  # bytes of those that are open
        self._half_closed = False
        self._paused = False
        self._reading = InTurn(slices, self._read)

    # --- for the transport -----------------------------------------------------------------------

    expects = False  # a stream may wait for its first request, too

    def message(self, data: Message) -> None:
        if self._reading.busy:
            self._reading.wait(partial(self._take, data))
        else:
            self._take(data)

    def half_close(self) -> None:
        self._half_closed = True
        self._finish_if_done()

    def cancel(self) -> None:
        self._call = None
        self._abandon()

    def drained(self) -> None:
        self._read_on()

    # --- for its requests ------------------------------------------------------------------------

    def write(self, request: "StreamedRequest", parts: Parts, size: int) -> None:
        """Send an answer: at once from a decoupled model, else when it is its turn."""
        if self._call is None:
            return
        if request.ordered:
            request.answers.append((parts, size))
            self._send_in_order()
        else:
            self._call.send(parts, size)

    def done(self, request: "StreamedRequest") -> None:
        """A request has had its last answer."""
        self._open.discard(request)
        self._ahead -= request.size
        if self._call is None:
            return
        self._call.release(request.size)
        if request.ordered:
            request.complete = True
            self._send_in_order()
        self._finish_if_done()
        self._read_on()

    def failed(self, request: "StreamedRequest", error: Exception, *, final: bool) -> None:
        """A model, or a queue, has an error for an answer."""
        if self._call is None:
            return
        if self._strict:
            request.fault = error
            if not request.ordered or request is self._order[0]:
                self._end(error)
            return
        data = request.failure(error, final=final)
        self.write(request, [data], len(data))

    def has(self, request: "StreamedRequest") -> bool:
        """Whether its answers are still wanted."""
        return request in self._open

    # --- inside ----------------------------------------------------------------------------------

    def _take(self, data: Message) -> None:
        call = self._call
        if call is None:
            return
        try:
            request = incoming(data)
        except Later as later:
            self._paused = True
            call.pause()
            self._reading.run(
                later.steps,
                wanted=lambda: self._call is not None,
                done=lambda request: self._begin(call, request, len(data)),
                failed=lambda error: self._end(Internal(str(error))),
            )
            return
        except RuntimeFault as error:
            self._end(Internal(str(error)))
            return
        self._begin(call, request, len(data))

    def _begin(self, call: Call, request: Incoming, size: int) -> None:
        streamed_request = StreamedRequest(self, request, size)
        self._open.add(streamed_request)
        self._ahead += size
        self._submit(streamed_request, request, call)
        if self._call is not None and (self._full or call.congested):
            self._paused = True
            call.pause()

    def _submit(self, request: "StreamedRequest", message: Incoming, call: Call) -> None:
        engine = self.engine
        try:
            if engine.stopping:
                raise ShuttingDown(STOPPING)
            model = self._decoder.model(message)
            request.ordered = not model.decoupled
            if request.ordered:
                self._order.append(request)
            try:
                found = self._decoder.decode(model, message, request, call.head)
            except Later as later:
                self._read_in_slices(request, model, call, later.steps)
                return
            request.request = found
            engine.submit(model, found)
        except Exception as error:  # why so wide: every request gets an answer
            # why not the strict way: like Triton, which ends a stream only for what comes later.
            if request.ordered and (not self._order or self._order[-1] is not request):
                self._order.append(request)
            request.turn_away(as_fault(error))

    def _read_in_slices(
        self, request: "StreamedRequest", model: Model, call: Call, steps: Steps[InferRequest]
    ) -> None:
        """Messages that come meanwhile are looked at afterwards: a sequence has its order."""

        def submit(found: InferRequest) -> None:
            request.request = found
            self.engine.submit(model, found)

        self._paused = True
        call.pause()
        self._reading.run(
            steps,
            wanted=lambda: self.has(request),
            done=submit,
            failed=lambda error: request.turn_away(as_fault(error)),
        )

    def _read(self) -> None:
        """What was read in slices, and what came meanwhile, has been submitted."""
        self._finish_if_done()
        self._read_on()

    def _send_in_order(self) -> None:
        order, call = self._order, self._call
        while order and call is not None:
            first = order[0]
            for parts, size in first.answers:
                call.send(parts, size)
            first.answers.clear()
            if first.fault is not None:
                self._end(first.fault)
                return
            if not first.complete:
                return
            order.popleft()

    @property
    def _full(self) -> bool:
        return len(self._open) >= _MAX_AHEAD or self._ahead >= _MAX_AHEAD_BYTES

    def _read_on(self) -> None:
        call = self._call
        busy = self._full or self._reading.busy
        if self._paused and call is not None and not busy and not call.congested:
            self._paused = False
            call.resume()

    def _finish_if_done(self) -> None:
        done = self._half_closed and not self._open and not self._reading.busy
        if done and self._call is not None:
            call, self._call = self._call, None
            call.finish(0)

    def _end(self, error: Exception) -> None:
        """End the stream with an error, and everything that is in flight."""
        call, self._call = self._call, None
        if call is not None:
            call.finish(status_of(error), str(error), late=only_busy(error))
        self._abandon()

    def _abandon(self) -> None:
        waiting, self._open = self._open, set()
        self._order.clear()
        for request in waiting:
            request.cancel()


class StreamedRequest:
    """One request of a stream, and the sink of its answers."""

    __slots__ = (
        "_id",
        "_name",
        "_stream",
        "_version",
        "_writing",
        "answers",
        "complete",
        "fault",
        "ordered",
        "request",
        "size",
    )

    def __init__(self, stream: StreamInfer, message: Incoming, size: int) -> None:
        self._stream = stream
        self.size = size  # in bytes, as it came
        self._id, self._name, self._version = message.id, message.name, message.version
        self.ordered = True
        self.answers: list[
            tuple[Parts, int]
        ] = []  # those of an ordinary model that are not sent yet
        self.complete = False
        self.fault: Exception | None = None  # the stream ends with it
        self.request: InferRequest | None = None
        self._writing: InTurn | None = None  # once an answer is written in slices

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        try:
            parts, size = streamed(aligned(request, outputs), final=True)
        except Later as later:
            self._write_later(later.steps, final=True)
            return
        except Exception as error:  # why so wide: every request gets an answer
            self.fail(request, as_fault(error))
            return
        self.request = None
        self._stream.write(self, parts, size)
        self._stream.done(self)

    def fail(self, request: InferRequest, error: Exception) -> None:  # noqa: ARG002 # a Sink's shape
        if self._writing is not None and self._writing.busy:
            self._writing.wait(partial(self._fail, error))
        else:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.request = None
        self._stream.failed(self, error, final=True)
        self._stream.done(self)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if self._writing is not None and self._writing.busy:
            self._writing.wait(partial(self._respond, request, response, final=final))
        else:
            self._respond(request, response, final=final)

    def _respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        stream = self._stream
        if final:
            self.request = None
        if response is not None:
            try:
                if response.error is not None:
                    raise response.error
                message = answer(request, response.names, response.arrays, response.parameters)
                stream.write(self, *streamed(message, final=final))
            except Later as later:
                self._write_later(later.steps, final=final)
                return
            except Exception as error:  # why so wide: every request gets an answer
                stream.failed(self, as_fault(error), final=final)
        elif self.ordered:
            if final and not self.answers:
                silent = Internal("received an unexpected null response")
                stream.failed(self, silent, final=True)
        elif final:
            form: GrpcForm = request.form
            if form.parameters.empty_final:
                data = empty_final(self._name, self._version, self._id)
                stream.write(self, [data], len(data))
        if final:
            stream.done(self)

    def _write_later(self, steps: Steps[tuple[Parts, int]], *, final: bool) -> None:
        stream = self._stream

        def done(message: tuple[Parts, int]) -> None:
            stream.write(self, *message)
            end()

        def failed(error: Exception) -> None:
            stream.failed(self, as_fault(error), final=final)
            end()

        def end() -> None:
            if final:
                self.request = None
                stream.done(self)

        if self._writing is None:
            self._writing = InTurn(stream.slices)
        self._writing.run(
            streamed_later(steps, final=final),
            wanted=lambda: stream.has(self),
            done=done,
            failed=failed,
        )

    def turn_away(self, error: RuntimeFault) -> None:
        """The request was never taken in."""
        self.request = None
        data = failure(str(error), self._id)
        self._stream.write(self, [data], len(data))
        self._stream.done(self)

    def failure(self, error: Exception, *, final: bool) -> bytes:
        return failure(str(error), self._id, final=final, name=self._name, version=self._version)

    def cancel(self) -> None:
        request, self.request = self.request, None
        if request is not None:
            self._stream.engine.cancel(request)

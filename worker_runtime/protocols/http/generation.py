"""Answers of the generate extension as flat JSON, one or many; events of decoupled models."""

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

import msgspec

from worker_runtime.errors import InvalidArgument, Unsupported
from worker_runtime.protocols.engine import Model
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.encode import (
    LargeArrays,
    encode_any,
    named,
    takes_long,
    wire_type,
    wire_types,
    written_data,
)
from worker_runtime.protocols.http.errors import error_body, headers_of, status_of
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.tensors import encode_response, is_finite, to_json
from worker_runtime.protocols.http.written_texts import length
from worker_runtime.protocols.slices import Later, Slices, Steps
from worker_runtime.types.request import Arrays, InferRequest, Response

T = TypeVar("T")
_EVENTS = b"text/event-stream; charset=utf-8"
_JSON = b"application/json"
_ASKED = "text/event-stream"
_MOST_BEHIND = 64 * 1024 * 1024  # bytes of outputs behind which no more wait for the one before
_TURN_S = 0.0005  # for those that waited, in one turn of the loop


class Generation:
    """The sink of one generate request. The first answer settles the HTTP status.

    An answer that takes long to write holds up those behind it, and nobody else.
    """

    def __init__(
        self, connection: Connection, slices: Slices, model: Model, *, streaming: bool
    ) -> None:
        self._connection = connection
        self._slices = slices
        self._model = model
        self._streaming = streaming
        self._begun = False
        self._writing = False
        self._behind: deque[tuple[Response | Exception | None, bool, int]] = deque()
        self._behind_bytes = 0
        self._waiting: list[Sequence[bytes]] = []  # answers that may turn out to be too many

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self.respond(request, Response(request.plan.outputs, outputs), final=True)

    def fail(self, request: InferRequest, error: Exception) -> None:
        self._next(request, error, final=True)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        self._next(request, response, final=final)

    def _next(
        self, request: InferRequest, given: Response | Exception | None, *, final: bool
    ) -> None:
        if self._connection.request is not request:
            return  # the client has gone
        if not self._writing:
            self._give(request, given, final=final)
            return
        if self._behind_bytes > _MOST_BEHIND:
            self._connection.abort()
            return
        size = _size(given)
        self._behind.append((given, final, size))
        self._behind_bytes += size

    def _give(
        self, request: InferRequest, given: Response | Exception | None, *, final: bool
    ) -> None:
        if given is None:
            if not self._begun:
                self._begin(200)
            if final:
                self._end()
            return
        try:
            if isinstance(given, Exception):
                raise given
            if given.error is not None:
                raise given.error
            parts = self._written(request, given)
        except Later as later:
            self._write_later(request, later.steps, final=final)
        except Exception as error:  # why so wide: one bad answer must not lose the stream
            self._refuse(error, with_headers=error is given, final=final)
        else:
            self._take(parts, 200, final=final)

    def _write_later(
        self, request: InferRequest, steps: Steps[Sequence[bytes]], *, final: bool
    ) -> None:
        def go_on() -> None:
            self._writing = False
            began = monotonic()
            while self._behind and not self._writing:
                if monotonic() - began > _TURN_S:
                    self._in_slices(request, _turn(), done=lambda _: go_on(), failed=failed)
                    return
                given, last, size = self._behind.popleft()
                self._behind_bytes -= size
                self._give(request, given, final=last)

        def done(parts: Sequence[bytes]) -> None:
            self._take(parts, 200, final=final)
            go_on()

        def failed(error: Exception) -> None:
            self._refuse(error, with_headers=False, final=final)
            go_on()

        self._in_slices(request, steps, done=done, failed=failed)

    def _in_slices(
        self,
        request: InferRequest,
        steps: Steps[T],
        *,
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Answers that come meanwhile wait."""
        self._writing = True
        self._slices.run(
            steps,
            wanted=lambda: self._connection.request is request,
            done=done,
            failed=failed,
        )

    def _written(self, request: InferRequest, response: Response) -> Sequence[bytes]:
        """One object: names sorted, a tensor of one element as that element.

        Raises Later where it takes long, and a RuntimeFault.
        """
        types = wire_types(self._model)
        shown = named(self._model, request.id)
        large: LargeArrays = {}
        finite = True
        for name, value in (response.parameters or {}).items():
            shown.setdefault(name, value)
        for name, array in zip(response.names, response.arrays, strict=True):
            if name in shown or name in large:
                continue
            datatype = wire_type(types, name, array)
            if takes_long(array):
                large[name] = (array, datatype)
                continue
            data = to_json(array, datatype)
            shown[name] = data[0] if len(data) == 1 else data
            finite = finite and is_finite(array)
        if large:
            raise Later(_flat_in_slices(shown, large, finite=finite))
        return [encode_response(dict(sorted(shown.items())), finite=finite)]

    def _begin(self, status: int, headers: bytes = b"") -> None:
        self._begun = True
        self._connection.begin(status, _EVENTS if self._streaming else _JSON, headers)

    def _refuse(self, error: Exception, *, with_headers: bool, final: bool) -> None:
        headers = headers_of(error) if with_headers else b""
        self._take([error_body(error)], status_of(error), headers, final=final)

    def _take(
        self, parts: Sequence[bytes], status: int, headers: bytes = b"", *, final: bool
    ) -> None:
        if not self._begun:
            self._begin(status, headers)
        if self._streaming:
            self._connection.piece(b"data: ", *parts, b"\n\n")
        elif len(self._waiting) < 2:  # two are as wrong as any number
            self._waiting.append(parts)
        if final:
            self._end()

    def _end(self) -> None:
        if not self._streaming:
            text = error_body(
                InvalidArgument(
                    "generate expects model to produce exactly 1 response, use generate stream "
                    "for model that generates various number of responses"
                )
            )
            self._connection.piece(*(self._waiting[0] if len(self._waiting) == 1 else [text]))
        self._connection.end()


def _turn() -> Steps[None]:
    yield None


def _size(given: Response | Exception | None) -> int:
    """Bytes of its outputs; an array of texts has but their places itself."""
    if not isinstance(given, Response):
        return 0
    return sum([a.nbytes + (length(a) if a.dtype == object else 0) for a in given.arrays])


def _flat_in_slices(
    shown: dict[str, Any], large: LargeArrays, *, finite: bool
) -> Steps[Sequence[bytes]]:
    text = list[bytes]()
    for name in sorted({*shown, *large}):
        text.append(b"," if text else b"{")
        if name not in large:
            text.append(encode_response({name: shown[name]}, finite=finite)[1:-1])
            continue
        data = yield from written_data(*large[name])
        if large[name][0].size == 1:
            data = data[1:-1]
        text += (encode_response([name], finite=True)[1:-1], b":", *data)
    return [*text, b"}"]


class StreamedInfer(Generation):
    """The sink of one request to a decoupled model. Raises Unsupported for who asked for no events.

    ``Accept: text/event-stream`` is ours: each answer is an event that holds what ``/infer`` would
    have answered, all of it JSON.
    """

    def __init__(self, connection: Connection, slices: Slices, model: Model, head: Head) -> None:
        if not any(n.lower() == "accept" and _ASKED in v.lower() for n, v in head.headers):
            raise Unsupported(
                "HTTP end point doesn't support models with decoupled transaction policy"
            )
        super().__init__(connection, slices, model, streaming=True)
        # why: an event is a piece of a stream, not a body that could be compressed by itself.
        self._head = msgspec.structs.replace(head, accept_encoding="")

    def _written(self, request: InferRequest, response: Response) -> Sequence[bytes]:
        if any(output.binary or output.region for output in request.form.outputs.values()):
            raise InvalidArgument("events carry JSON: ask for no binary or shared outputs")
        given = (response.names, response.arrays, response.parameters)
        try:
            _, parts, _ = encode_any(self._head, request, *given)
        except Later as later:
            raise Later(_parts(later.steps)) from None
        return parts


def _parts(steps: Steps[Answer]) -> Steps[Sequence[bytes]]:
    _, parts, _ = yield from steps
    return parts

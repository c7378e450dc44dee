"""The HTTP application: routes to the engine. One instance serves every connection."""

import logging
import sys
from collections.abc import Mapping
from time import monotonic_ns
from typing import Any

import msgspec

from worker_runtime.core.parameters import HeaderForward, joined
from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.observability.metrics.connections import Load
from worker_runtime.observability.requests.watched import id_of
from worker_runtime.protocols.admission import NO_ROOM, UNCOUNTED
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.http.admin import Admin, Handler
from worker_runtime.protocols.http.compression import decompress
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.decode import decode, decode_in_slices, has_large_json
from worker_runtime.protocols.http.encode import encode, encode_any
from worker_runtime.protocols.http.errors import HttpRefusal, no_room
from worker_runtime.protocols.http.generate import generate_in_slices, generate_request
from worker_runtime.protocols.http.generation import Generation, StreamedInfer
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.http.invocations import Asked, asked, is_invocation
from worker_runtime.protocols.http.limits import LARGE_JSON, check_document, check_size
from worker_runtime.protocols.http.predictions import Predictions
from worker_runtime.protocols.http.routes import Route, match
from worker_runtime.protocols.http.scoring import Scoring, is_scoring_script, scoring_request
from worker_runtime.protocols.listening import Members
from worker_runtime.protocols.slices import Later, Slices, at_once
from worker_runtime.types.listening import MAX_INPUT_BYTES, Restrictions
from worker_runtime.types.request import InferRequest, Sink

logger = logging.getLogger(__name__)

_WRONG_METHOD = b'{"error":"Method Not Allowed"}'


class HttpApp:
    """``max_input_bytes`` bounds JSON parts, raw requests and what compressed bodies grow to.

    ``max_body_bytes`` bounds whatever comes, binary tensors above all (0: nothing does).
    ``forward_pattern``: headers that become request parameters ("": none). ``restrictions``: parts
    of the API that want a header. ``control`` has the handlers, by kind of route, of all that is
    not inference, where the engine itself is not to be asked. Raises InvalidArgument for a pattern
    that is none.
    """

    def __init__(
        self,
        engine: Engine,
        max_input_bytes: int = MAX_INPUT_BYTES,
        forward_pattern: str = "",
        restrictions: Restrictions | None = None,
        max_body_bytes: int = 2**31 - 1,
        control: Mapping[str, Handler] | None = None,
    ) -> None:
        # why not always: who looks at all headers is to see that one
        self.heads = HeadCache(ids_apart=not (forward_pattern or restrictions))
        self.connections: Members[Connection] = Members()
        # why not methods: one call less for each answer
        self.encode = encode
        self.encode_any = encode_any
        self._slices = Slices()
        self._engine = engine
        self._tracer = engine.tracer
        self._requests = engine.tracer.requests
        self._limit = max_input_bytes
        self._body_limit = max_body_bytes or sys.maxsize
        self._forward = HeaderForward(forward_pattern) if forward_pattern else None
        self._restrictions = restrictions or {}
        self._handlers: dict[str, Handler] = {
            "score": self._score,
            "swagger": self._swagger,
            "generate": self._generate,
            "generate_stream": self._generate,
            "bad_version": _bad_version,
            **(Admin(engine, max_input_bytes).handlers if control is None else control),
        }

    @property
    def load(self) -> Load:
        open_now = [connection.request is not None for connection in self.connections]
        return Load(len(open_now), sum(open_now))

    def handle(self, connection: Connection, head: Head, body: Any) -> None:
        """Answer one request, at once or later; never raises for what a client can cause."""
        route: Route | None = head.route
        if route is None:
            route = head.route = match(head.path)
        try:
            if route is None:
                connection.reply(404, b'{"error":"Not Found"}')
                return
            if self._restrictions:
                _check_allowed(self._restrictions, route, head)
            if head.method not in route.verbs:
                allowed = b"Allow: %s\r\n" % ", ".join(route.verbs).encode()
                connection.reply(405, _WRONG_METHOD, headers=allowed)
            elif route.kind == "infer":
                self._infer(connection, head, self._engine.resolve(route.name, route.version), body)
            else:
                self._handlers[route.kind](connection, head, route, body)
        except (RuntimeFault, HttpRefusal) as error:
            connection.fail_with(error)
        except Exception as error:
            logger.exception("HTTP %s %s failed", head.method, head.path)
            connection.fail_with(error)

    def body_limit(self, head: Head) -> int:
        return self._body_limit if head.json_length > 0 else self._limit

    def too_large(self, head: Head) -> str:
        """Why a body of this Content-Length is not read at all; "" when it is."""
        size, route = head.content_length, head.route or match(head.path)
        try:
            if route is None or route.kind not in ("infer", "score"):
                check_document(size, self._limit)
            elif head.json_length == 0:
                check_size(size, self._limit, "Request raw input size")
            elif head.json_length < 0:
                check_size(size, self._limit)
            check_size(size, self._body_limit, "Request size", "http-max-body-size")
        except InvalidArgument as error:
            return str(error)
        return ""

    def answer_later(self, connection: Connection, later: Later) -> None:
        self._slices.run(
            later.steps,
            wanted=lambda: not connection.closed,
            done=connection.answer,
            failed=connection.fail_with,
        )

    def cancelled(self, request: InferRequest) -> None:
        request.cancelled = True
        self._engine.cancel(request)

    def _score(self, connection: Connection, head: Head, _route: Route, body: Any) -> None:
        model = self._engine.only_model()
        scripted = is_scoring_script(model)
        if not scripted and head.method != "POST":
            connection.reply(405, _WRONG_METHOD, headers=b"Allow: POST\r\n")
        elif head.content_encoding and head.content_encoding != "identity":
            self._unpack(connection, head, body)
        elif scripted:
            sink = Scoring(connection)
            request = scoring_request(self._engine, model, head, bytes(body), sink, self._limit)
            self._submit(connection, head, model, request)
        elif head.json_length == -1 and is_invocation(_content_type(head), body):
            self._invoke(connection, head, model, body)
        else:
            self._infer(connection, head, model, body)

    def _invoke(self, connection: Connection, head: Head, model: Model, body: Any) -> None:
        """Rows as MLflow's callers send them, however many."""
        check_size(len(body), self._limit)

        def begin(found: Asked) -> None:
            def submit(request: InferRequest) -> None:
                self._submit(connection, head, model, request)

            Predictions(connection, self._slices, self._engine, model, found, submit).begin()

        steps = asked(model.signature, _content_type(head), bytes(body))
        if len(body) < LARGE_JSON:
            begin(at_once(steps))
            return
        self._slices.run(
            steps,
            wanted=lambda: not connection.closed,
            done=begin,
            failed=connection.fail_with,
        )

    def _swagger(self, connection: Connection, head: Head, route: Route, body: Any) -> None:
        """A scoring script answers it; nothing else has such a document."""
        if is_scoring_script(self._engine.only_model()):
            self._score(connection, head, route, body)
        else:
            connection.reply(404, b'{"error":"Not Found"}')

    def _infer(self, connection: Connection, head: Head, model: Model, body: Any) -> None:
        if head.content_encoding and head.content_encoding != "identity":
            self._unpack(connection, head, body)
            return
        engine = self._engine
        sink: Sink = connection
        if model.decoupled:
            sink = StreamedInfer(connection, self._slices, model, head)
        try:
            if has_large_json(head, body):
                raise Later(decode_in_slices(engine, model, head, body, sink, self._limit))
            x_request_id = connection.request_id if self._requests.active else b""
            request = decode(engine, model, head, body, sink, self._limit, x_request_id)
        except Later as later:
            self._slices.run(
                later.steps,
                wanted=lambda: not connection.closed,
                done=lambda request: self._submit(connection, head, model, request),
                failed=connection.fail_with,
            )
            return
        self._submit(connection, head, model, request)

    def _submit(
        self, connection: Connection, head: Head, model: Model, request: InferRequest
    ) -> None:
        if self._forward is not None:
            self._forward_headers(self._forward, head, request)
        self._start(connection, head, model, request)

    def _start(
        self, connection: Connection, head: Head, model: Model, request: InferRequest
    ) -> None:
        if self._tracer.active:
            self._trace(head, model, request)
        if (
            request.watched is None
            and self._requests.active
            and (found := connection.request_id or id_of(head.headers))
        ):
            request.watched, request.x_request_id = self._requests, found
        connection.request = request
        try:
            self._engine.submit(model, request)
        except RuntimeFault:
            connection.request = None
            raise

    def _unpack(self, connection: Connection, head: Head, body: Any) -> None:
        """Handle the request again when its body is plain, if its client is still there."""
        plain_head = msgspec.structs.replace(head, content_encoding="")

        def unpacked(plain: bytes) -> None:
            if connection.closed:
                return
            if len(plain) > UNCOUNTED and not connection.take(len(plain)):
                connection.refuse(no_room(NO_ROOM))
            else:
                self.handle(connection, plain_head, plain)

        decompress(body, head.content_encoding, self._limit, unpacked, connection.fail_with)

    def _generate(self, connection: Connection, head: Head, route: Route, body: Any) -> None:
        model = self._engine.resolve(route.name, route.version)
        if head.content_encoding and head.content_encoding != "identity":
            raise InvalidArgument("Unsupported content-encoding, only 'identity' is supported.")
        streaming = route.kind == "generate_stream"
        sink = Generation(connection, self._slices, model, streaming=streaming)
        if len(body) >= LARGE_JSON:
            self._slices.run(
                generate_in_slices(self._engine, model, bytes(body), sink, self._limit),
                wanted=lambda: not connection.closed,
                done=lambda request: self._start(connection, head, model, request),
                failed=connection.fail_with,
            )
            return
        request = generate_request(self._engine, model, bytes(body), sink, self._limit)
        self._start(connection, head, model, request)

    def _trace(self, head: Head, model: Model, request: InferRequest) -> None:
        headers = {name.lower(): value for name, value in head.headers}
        received = (request.arrived_ns, monotonic_ns())
        self._tracer.start(request, model, "HTTP", headers, received)

    def _forward_headers(self, forward: HeaderForward, head: Head, request: InferRequest) -> None:
        if head.forwarded is None:
            head.forwarded = forward.parameters(head.headers)
        if head.forwarded:
            request.parameters = joined(request.parameters, head.forwarded)


def _check_allowed(restrictions: Restrictions, route: Route, head: Head) -> None:
    """Raises HttpRefusal (403) unless the request has the header that ``route`` wants."""
    restriction = restrictions.get(route.category) if route.category is not None else None
    if restriction is None:
        return
    wanted = restriction.key.lower()
    given = next((value for name, value in head.headers if name.lower() == wanted), None)
    if given != restriction.value:
        raise HttpRefusal(403, f"This API is restricted, expecting header '{restriction.key}'")


def _content_type(head: Head) -> str:
    return next((value for name, value in head.headers if name.lower() == "content-type"), "")


def _bad_version(_connection: Connection, head: Head, _route: Route, _body: Any) -> None:
    text = head.path.split("/")[5]
    raise InvalidArgument(
        f"failed to get model version from specified version string '{text}' (details: stol), "
        "version should be an integral value > 0"
    )

"""An HTTP application under other paths: requests are translated as their heads are read."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.http.app import HttpApp
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.protocols.http.heads import Head, HeadCache, leading_number, parse_head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.routes import Route
from worker_runtime.protocols.slices import Later
from worker_runtime.types.listening import Restrictions
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue

_BINARY = re.compile(
    rb"Content-Type: application/octet-stream\r\nInference-Header-Content-Length: ([0-9]+)\r\n"
)
_CONTENT_TYPE = "application/vnd.%s-triton.binary+json;json-header-size="

Translate = Callable[[Head], None]


class CloudApp(HttpApp):
    """Binary tensors come and go under a content type of the ``platform``, never compressed.

    ``translate`` gives a head the path and the route that it has here, and its method.
    """

    def __init__(
        self,
        engine: Engine,
        platform: str,
        translate: Translate,
        max_input_bytes: int,
        restrictions: Restrictions,
        max_body_bytes: int,
    ) -> None:
        super().__init__(engine, max_input_bytes, "", restrictions, max_body_bytes)
        self._content_type = _CONTENT_TYPE % platform
        self._translate = translate
        self._plain_encode, self._plain_encode_any = self.encode, self.encode_any
        self.heads = HeadCache(self._parse)
        self.encode = self._encode
        self.encode_any = self._encode_any
        self._handlers["unknown"] = _unknown

    def _parse(self, raw: bytes) -> Head:
        head = parse_head(raw)
        head.content_encoding = head.accept_encoding = ""
        given = header(head, "content-type")
        at = given.find(self._content_type)
        if at > 0:
            raise HttpRefusal(
                400,
                f"expect MIME type for binary data starts with '{self._content_type}', got: "
                f"{given}",
                close=True,
            )
        head.json_text = given[len(self._content_type) :] if at == 0 else ""
        head.json_length = leading_number(head.json_text.encode("latin-1")) if at == 0 else -1
        self._translate(head)
        return head

    def _encode(self, head: Head, request: InferRequest, outputs: Arrays) -> Answer:
        return self._retyped(self._plain_encode(head, request, outputs))

    def _encode_any(
        self,
        head: Head,
        request: InferRequest,
        names: Sequence[str],
        outputs: Arrays,
        parameters: dict[str, ParameterValue] | None = None,
    ) -> Answer:
        return self._retyped(self._plain_encode_any(head, request, names, outputs, parameters))

    def answer_later(self, connection: Connection, later: Later) -> None:
        self._slices.run(
            later.steps,
            wanted=lambda: not connection.closed,
            done=lambda answer: connection.answer(self._retyped(answer)),
            failed=connection.fail_with,
        )

    def _retyped(self, answer: Answer) -> Answer:
        start, parts, size = answer
        line = rb"Content-Type: %s\1\r\n" % self._content_type.encode()
        return _BINARY.sub(line, start, count=1), parts, size


def header(head: Head, name: str) -> str:
    """The value of a header, "" without one. ``name`` in lower case."""
    return next((value for given, value in head.headers if given.lower() == name), "")


def redirect(head: Head, path: str, route: Route) -> None:
    """Serve a request as one for ``path`` of Triton's own."""
    head.path, head.route = path, route


def refuse(head: Head, *verbs: str) -> None:
    """Nothing is served there: 405 for other methods than ``verbs``, where there are some."""
    head.route = Route("unknown", verbs or (head.method,))


def renamed(route: Route, name: str) -> Route:
    """The route of a path that names a model, for another one."""
    return msgspec.structs.replace(route, name=name)


def _unknown(connection: Connection, _head: Head, _route: Route, _body: Any) -> None:
    connection.reply(400)

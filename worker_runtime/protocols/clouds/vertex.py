"""Vertex AI: two routes that the platform chooses, and Triton's API behind a header."""

from collections.abc import Callable
from typing import Any

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.clouds.app import CloudApp, header, redirect, refuse, renamed
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.routes import Route, match
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.listening import Category, Restrictions, VertexOptions

_REDIRECT = "x-vertex-ai-triton-redirect"
_TEXT = b"text/plain; charset=utf-8"
_HEALTH = "/v2/health/ready"
_METRICS = Route("metrics", ("GET",))
_ONLY_MODEL = Route("score", ("POST",), Category.INFERENCE)
_NOT_REDIRECTED = ("trace", "logging", "score")


class VertexApp(CloudApp):
    """``scrape`` gives the metrics, in slices. Raises InvalidArgument without the routes."""

    def __init__(
        self,
        engine: Engine,
        options: VertexOptions,
        scrape: Callable[[], Steps[bytes]],
        max_input_bytes: int,
        restrictions: Restrictions,
        max_body_bytes: int,
    ) -> None:
        for variable, route in (
            ("AIP_PREDICT_ROUTE", options.predict_route),
            ("AIP_HEALTH_ROUTE", options.health_route),
        ):
            if not route:
                raise InvalidArgument(f"{variable} is not defined for Vertex AI endpoint")
        super().__init__(
            engine, "vertex-ai", self._find, max_input_bytes, restrictions, max_body_bytes
        )
        self._options = options
        self._scrape = scrape
        self._handlers["metrics"] = self._metrics

    def _find(self, head: Head) -> None:
        options = self._options
        if head.path == options.health_route:
            redirect(head, _HEALTH, _route(_HEALTH))
        elif head.path != options.predict_route:
            refuse(head)
        elif target := header(head, _REDIRECT):
            _redirect(head, f"/{target}")
        else:
            path = "/v2/models/-/infer"
            name = options.default_model
            redirect(head, path, renamed(_route(path), name) if name else _ONLY_MODEL)

    def _metrics(self, connection: Connection, _head: Head, _route: Route, _body: Any) -> None:
        self._slices.run(
            self._scrape(),
            wanted=lambda: not connection.closed,
            done=lambda text: connection.reply(200, text, content_type=_TEXT),
            failed=connection.fail_with,
        )


def check_default_model(engine: Engine, name: str) -> None:
    """Whether there is a model for requests that name none. Raises InvalidArgument."""
    ready = {row["name"] for row in engine.index(ready_only=True)}
    if name and name not in ready:
        raise InvalidArgument(f"Expect the default model '{name}' is loaded")
    if not name and len(ready) != 1:
        raise InvalidArgument(
            "Expect the model repository contains only a single model if default model is not "
            "specified"
        )


def _redirect(head: Head, path: str) -> None:
    """All comes as POST there, with the method that its path has of its own."""
    found = _METRICS if path == "/metrics" else match(path)
    if head.method != "POST":
        refuse(head, "POST")
    elif found is None or found.kind in _NOT_REDIRECTED:
        refuse(head)
    else:
        head.method = found.verbs[0]
        redirect(head, path, found)


def _route(path: str) -> Route:
    found = match(path)
    assert found is not None, path  # noqa: S101 # of a path of ours
    return found

"""Decoupled models on ``/infer``: refused as in Triton, or streamed to who asks for events.

``Accept: text/event-stream`` is ours: each answer is an event that holds what ``/infer`` would have
answered, all of it JSON.
"""

import msgspec

from worker_runtime.errors import InvalidArgument, Unsupported
from worker_runtime.protocols.engine import Model
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.encode import encode_any
from worker_runtime.protocols.http.errors import error_body, status_of
from worker_runtime.protocols.http.generate import Generation
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.slices import Later, at_once
from worker_runtime.types.request import InferRequest, Response

_EVENTS = "text/event-stream"


class StreamedInfer(Generation):
    """The sink of one such request. Raises Unsupported for who did not ask for events."""

    def __init__(self, connection: Connection, model: Model, head: Head) -> None:
        if not any(n.lower() == "accept" and _EVENTS in v.lower() for n, v in head.headers):
            raise Unsupported(
                "HTTP end point doesn't support models with decoupled transaction policy"
            )
        super().__init__(connection, model, streaming=True)
        # why: an event is a piece of a stream, not a body that could be compressed by itself.
        self._head = msgspec.structs.replace(head, accept_encoding="")

    def _written(self, request: InferRequest, response: Response) -> tuple[bytes, int]:
        try:
            if response.error is not None:
                raise response.error
            if any(output.binary or output.region for output in request.form.outputs.values()):
                raise InvalidArgument("events carry JSON: ask for no binary or shared outputs")
            _, parts, _ = self._encoded(request, response)
            return b"".join(parts), 200
        except Exception as error:  # why so wide: one bad answer must not lose the stream
            return error_body(error), status_of(error)

    def _encoded(self, request: InferRequest, response: Response) -> Answer:
        given = (response.names, response.arrays, response.parameters)
        try:
            return encode_any(self._head, request, *given)
        except Later as later:
            answer: Answer = at_once(later.steps)
            return answer

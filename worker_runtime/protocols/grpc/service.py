"""Which handler serves which call: what every gRPC transport is given."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.admin import Memory, Queries, Repository, Switches
from worker_runtime.protocols.grpc.infer import UnaryInfer
from worker_runtime.protocols.grpc.requests import Decoder
from worker_runtime.protocols.grpc.simple import Query, QueryHandler
from worker_runtime.protocols.grpc.status import Status
from worker_runtime.protocols.grpc.streaming import StreamInfer
from worker_runtime.protocols.grpc.transport import Call, Handler
from worker_runtime.protocols.slices import Slices
from worker_runtime.types.listening import Category, Restriction, Restrictions

MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer"
MODEL_STREAM_INFER = "/inference.GRPCInferenceService/ModelStreamInfer"
HEALTH_CHECK = "/grpc.health.v1.Health/Check"
_PREFIX = "/inference.GRPCInferenceService/"
_RESTRICTED_HEADER = "triton-grpc-protocol-"


class _Method(NamedTuple):
    start: Callable[[Call], Handler]
    restriction: Restriction | None


def control_queries(engine: Engine) -> dict[str, Query]:
    """All that is not inference, by path."""
    queries = Queries(engine)
    parts = (queries, Repository(engine), Memory(engine.shared_memory), Switches(engine))
    found = {_PREFIX + name: query for part in parts for name, query in part.by_name().items()}
    found[HEALTH_CHECK] = queries.health()
    return found


class Service:
    """``forward_pattern`` "": no metadata become parameters.

    ``control`` is as ``control_queries``, where the engine itself is not to be asked.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        restrictions: Restrictions | None = None,
        forward_pattern: str = "",
        control: Mapping[str, Query] | None = None,
    ) -> None:
        decoder, slices = Decoder(engine, forward_pattern), Slices()
        found = control_queries(engine) if control is None else control
        limits = restrictions or {}
        inference = limits.get(Category.INFERENCE)
        self._methods = {
            path: _Method(_opening(query), limits.get(query.category))
            for path, query in found.items()
        }
        self._methods[MODEL_INFER] = _Method(
            lambda call: UnaryInfer(engine, decoder, slices, call), inference
        )
        self._methods[MODEL_STREAM_INFER] = _Method(
            lambda call: StreamInfer(engine, decoder, slices, call), inference
        )

    @property
    def paths(self) -> list[str]:
        return list(self._methods)

    def open(self, call: Call) -> Handler | None:
        """The handler of a new call. None: there is no such method, or the call is over already."""
        method = self._methods.get(call.head.path)
        if method is None:
            return None
        if method.restriction is not None and not _allowed(call, method.restriction):
            header = _RESTRICTED_HEADER + method.restriction.key
            call.finish(
                Status.UNAVAILABLE, f"This protocol is restricted, expecting header '{header}'"
            )
            return None
        return method.start(call)


def _opening(query: Query) -> Callable[[Call], Handler]:
    return lambda call: QueryHandler(query, call)


def _allowed(call: Call, restriction: Restriction) -> bool:
    """The first header of that name has the value; names are lower case on the wire."""
    wanted = (_RESTRICTED_HEADER + restriction.key).lower()
    for name, value in call.head.metadata:
        if name == wanted:
            return value == restriction.value
    return False

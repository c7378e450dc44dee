"""The bridge between the engine's sinks and coroutines: one future per call."""

import asyncio
from typing import Any

from worker_runtime.core.engine import Engine
from worker_runtime.errors import Internal, RuntimeFault
from worker_runtime.protocols.grpc.codec import decode, encode
from worker_runtime.types.request import Arrays, InferRequest, Response


class Call:
    """A sink that turns the answer into a message and settles a future with it."""

    __slots__ = ("future", "request")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[Any] = loop.create_future()
        self.request: InferRequest | None = None

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        if self.future.done():
            return  # cancelled by the client
        try:
            self.future.set_result(encode(request, outputs))
        except RuntimeFault as error:
            self.future.set_exception(error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if not final:
            return
        if response is None:
            self.fail(request, Internal("the model gave no response"))
        elif response.error is not None:
            self.fail(request, response.error)
        else:
            given = dict(zip(response.names, response.arrays, strict=True))
            missing = [name for name in request.plan.outputs if name not in given]
            if missing:
                self.fail(request, Internal(f"the model gave no output '{missing[0]}'"))
            else:
                self.deliver(request, [given[name] for name in request.plan.outputs])

    def fail(self, request: InferRequest, error: Exception) -> None:  # noqa: ARG002 # a Sink's shape
        if not self.future.done():
            self.future.set_exception(error)


def start(engine: Engine, loop: asyncio.AbstractEventLoop, message: Any) -> Call:
    """Submit ``message``. Raises RuntimeFault when it is refused at once."""
    model = engine.resolve(message.model_name, message.model_version)
    call = Call(loop)
    call.request = request = decode(engine, model, message, call)
    engine.submit(model, request)
    return call


async def answer(engine: Engine, call: Call) -> Any:
    """Wait for the answer; when the caller is cancelled the waiting request is dropped."""
    try:
        return await call.future
    except asyncio.CancelledError:
        if call.request is not None:
            engine.cancel(call.request)
        raise
    finally:
        call.request = None

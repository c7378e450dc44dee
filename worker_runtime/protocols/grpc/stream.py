"""ModelStreamInfer: requests in, responses out in the same order, errors in-band."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.engine import Engine
from worker_runtime.errors import RuntimeFault
from worker_runtime.protocols.grpc.calls import Call, answer, start
from worker_runtime.protocols.grpc.errors import code_of

FINAL = "triton_final_response"
_STRICT = ("triton_grpc_error", "true")
_MAX_AHEAD = 1024  # requests of one stream that may be in the works

Started = tuple[str, "Call | RuntimeFault"]


async def serve_stream(
    engine: Engine, requests: AsyncIterator[Any], context: Any
) -> AsyncIterator[Any]:
    """Answer every request of a stream; ``triton_grpc_error: true`` ends it at the first error."""
    strict = _STRICT in [(k, v) for k, v in context.invocation_metadata() or ()]
    started: asyncio.Queue[Started | None] = asyncio.Queue(_MAX_AHEAD)
    reader = asyncio.ensure_future(_read(engine, requests, started))
    try:
        while (item := await started.get()) is not None:
            request_id, call = item
            try:
                if isinstance(call, RuntimeFault):
                    raise call
                reply = await answer(engine, call)
            except RuntimeFault as error:
                if strict:
                    await context.abort(code_of(error), str(error))
                yield _failure(request_id, error)
            else:
                reply.parameters[FINAL].bool_param = True
                yield pb.ModelStreamInferResponse(infer_response=reply)
    finally:
        reader.cancel()
        _abandon(engine, started)


async def _read(
    engine: Engine, requests: AsyncIterator[Any], started: "asyncio.Queue[Started | None]"
) -> None:
    """Submit requests as they come, so that those of one stream can share batches."""
    loop = asyncio.get_running_loop()
    try:
        async for message in requests:
            try:
                call: Call | RuntimeFault = start(engine, loop, message)
            except RuntimeFault as error:
                call = error
            await started.put((message.id, call))
    except grpc.RpcError:
        return  # the client has gone; the other side is cancelled with it
    finally:
        if not asyncio.current_task().cancelling():  # type: ignore[union-attr] # a task runs this
            await started.put(None)


def _abandon(engine: Engine, started: "asyncio.Queue[Started | None]") -> None:
    while not started.empty():
        item = started.get_nowait()
        if item is not None and isinstance(item[1], Call) and item[1].request is not None:
            item[1].future.cancel()
            engine.cancel(item[1].request)


def _failure(request_id: str, error: RuntimeFault) -> Any:
    reply = pb.ModelStreamInferResponse(error_message=str(error))
    reply.infer_response.id = request_id
    reply.infer_response.parameters[FINAL].bool_param = True
    return reply

"""The test bench of one socket: metadata and inferences of one endpoint, through the gateway."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import cache
from typing import Any, Protocol

import httpx
from django.conf import settings

from controlplane.console import frames, reading
from controlplane.console.database import in_database
from controlplane.console.inference import (
    Answer,
    Call,
    InferenceFailed,
    Part,
    StreamingClient,
    Target,
    infer_http,
    model_path,
)
from controlplane.console.models_served import Served, Specification, as_running, served
from controlplane.console.tensors import (
    MAX_VALUES_SHOWN,
    TensorError,
    check_against,
    show_output,
)
from controlplane.console.timing import Counters, counters, timing
from controlplane.core.errors import DomainError
from controlplane.deployments.services.keys import endpoint_key_use

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 4
SIDE_CALL_TIMEOUT_S = 5.0
STREAM_TIMEOUT_S = 600.0  # a stream may talk for long; a person can stop it
UNFORESEEN = "Something unforeseen went wrong; the log has the cause."


@cache
def _authorities() -> ssl.SSLContext:
    """Of this machine. Read once: it takes 30 ms, on the loop of everybody's sockets."""
    return httpx.create_ssl_context(trust_env=False)


class Send(Protocol):
    async def __call__(self, frame: str) -> None: ...


class Bench:
    def __init__(self, endpoint: str, send: Send) -> None:
        self.endpoint = endpoint
        self._send = send
        self._client = httpx.AsyncClient(
            trust_env=False, timeout=SIDE_CALL_TIMEOUT_S, verify=_authorities()
        )
        self._grpc: StreamingClient | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._arriving: reading.Arriving | None = None

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()
        if self._grpc is not None:
            await self._grpc.close()

    async def receive(self, text: str, *, may_infer: bool) -> None:
        """Answer one request; inferences answer later, so that several may be on their way."""
        request: dict[str, Any] = {}
        try:
            request = await asyncio.to_thread(reading.parse, text)
            match request.get("op"):
                case "metadata":
                    await self._metadata(str(request.get("deployment") or ""), may_infer)
                case "infer":
                    await self._arrive(request, may_infer=may_infer)
                case "cancel":
                    task = self._tasks.get(reading.call_id(request))
                    if task is not None:
                        task.cancel()
                case other:
                    raise frames.BadRequest(
                        "BadRequest",
                        f"op: expected metadata, infer or cancel, got {other!r:.80}.",
                    )
        except Exception as error:
            await self._fail(request.get("id"), error)

    async def receive_bytes(self, piece: bytes) -> None:
        """A tensor's bytes, of the call whose text came last."""
        arriving = self._arriving
        call_id = arriving.request.get("id") if arriving else None
        try:
            if arriving is None:
                raise frames.BadRequest("BadRequest", "A binary frame that no call announced.")
            arriving.add(piece)
            if arriving.missing == 0:
                self._arriving = None
                await self._start(arriving)
        except Exception as error:
            await self._fail(call_id, error)

    async def _metadata(self, deployment: str, may_infer: bool) -> None:
        found, target = await self._target(deployment)
        pinned = Target(target.base_url, target.endpoint, target.key, found.deployment)
        models = [await as_running(self._client, pinned, model) for model in found.models]
        limits = {**reading.LIMITS, "in_flight": MAX_IN_FLIGHT}
        await self._send(
            frames.dump(
                {"type": "metadata", "models": models, "may_infer": may_infer, "limits": limits}
            )
        )

    async def _arrive(self, request: dict[str, Any], *, may_infer: bool) -> None:
        if not may_infer:
            raise InferenceFailed("Forbidden", "Your role may look, but not call.")
        call_id = reading.call_id(request)
        if self._arriving is not None:
            self._arriving = None
            raise frames.BadRequest("BadRequest", "The call before still waited for its frames.")
        if len(self._tasks) >= MAX_IN_FLIGHT:
            raise InferenceFailed("Busy", f"At most {MAX_IN_FLIGHT} calls at a time.", status=429)
        if call_id in self._tasks:
            raise frames.BadRequest("BadRequest", f"id: {call_id} is on its way already.")
        arriving = reading.Arriving.of(request)
        if arriving.missing:
            self._arriving = arriving
        else:
            await self._start(arriving)

    async def _start(self, arriving: reading.Arriving) -> None:
        call_id = reading.call_id(arriving.request)
        await self._send(frames.dump({"type": "accepted", "id": call_id}))
        task = asyncio.create_task(self._infer(call_id, arriving))
        self._tasks[call_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call_id, None))

    async def _infer(self, call_id: str, arriving: reading.Arriving) -> None:
        request = arriving.request
        try:
            inputs = await asyncio.to_thread(arriving.inputs)
            found, target = await self._target(str(request.get("deployment") or ""))
            specification = await self._specification(found, target, request)
            check_against(inputs, specification["inputs"], specification["max_batch_size"])
            call = Call(
                model=specification["name"],
                inputs=inputs,
                outputs=reading.names(request),
                version=str(request.get("version") or ""),
                parameters=reading.parameters(request),
            )
            before = await self._counters(found, target, call.model)
            await self._send(frames.dump({"type": "sent", "id": call_id}))

            async def after() -> Counters | None:
                return await self._counters(found, target, call.model)

            if specification["decoupled"]:
                await self._stream(call_id, target, call, before, after)
                return
            answer = await self._call(found, target, call, str(request.get("protocol", "http")))
            last = await after()
            await self._send(await asyncio.to_thread(_result, call_id, answer, before, last))
        except asyncio.CancelledError:
            await self._send(frames.dump({"type": "cancelled", "id": call_id}))
            raise
        except Exception as error:
            await self._fail(call_id, error)

    async def _stream(
        self,
        call_id: str,
        target: Target,
        call: Call,
        before: Counters | None,
        after: Callable[[], Awaitable[Counters | None]],
    ) -> None:
        """Every response as it comes, then a result without outputs that counts them."""
        count, first_us, total_us, version, deployment = 0, None, 0.0, "", ""
        stream = self._grpc_client(target).stream(target, call, STREAM_TIMEOUT_S)
        async with aclosing(stream):
            async for part in stream:
                first_us = part.at_us if first_us is None else first_us
                total_us, version, deployment = part.at_us, part.model_version, part.deployment
                count += 1
                await self._send(await asyncio.to_thread(_response, call_id, part))
        measured = timing(total_us=total_us, upstream_us=None, before=before, after=await after())
        await self._send(
            frames.dump(
                {
                    "type": "result",
                    "id": call_id,
                    "outputs": [],
                    "responses": count,
                    "timing": {**measured, "first_us": first_us and round(first_us, 1)},
                    "model_version": version,
                    "deployment": deployment,
                    "max_values": MAX_VALUES_SHOWN,
                }
            )
        )

    async def _target(self, deployment: str) -> tuple[Served, Target]:
        found = await in_database(served)(self.endpoint, deployment)
        key = await in_database(endpoint_key_use)(name=self.endpoint)
        base = settings.SHOAL_GATEWAY_PLAIN_URL
        return found, Target(base, self.endpoint, key, deployment)

    async def _specification(
        self, found: Served, target: Target, request: dict[str, Any]
    ) -> Specification:
        """Of the model that the request names; a single one needs no name."""
        name = request.get("model")
        matching = [model for model in found.models if name in (None, "", model["name"])]
        if len(matching) != 1:
            names = ", ".join(model["name"] for model in found.models) or "none"
            raise InferenceFailed("NoSuchModel", f"model: this endpoint serves {names}.")
        pinned = Target(target.base_url, target.endpoint, target.key, found.deployment)
        return await as_running(self._client, pinned, matching[0])

    async def _call(self, found: Served, target: Target, call: Call, protocol: str) -> Answer:
        # why longer than the gateway's own limit: its answer says more than our giving up
        timeout_s = found.request_timeout_ms / 1000 + 10
        if protocol == "grpc":
            return await self._grpc_client(target).infer(target, call, timeout_s)
        return await infer_http(self._client, target, call, timeout_s)

    def _grpc_client(self, target: Target) -> StreamingClient:
        if self._grpc is None:
            from controlplane.console.grpc_inference import GrpcClient  # noqa: PLC0415 - see there

            self._grpc = GrpcClient(target.grpc_target)
        return self._grpc

    async def _counters(self, found: Served, target: Target, model: str) -> Counters | None:
        """None where readings are not comparable: several deployments or replicas may answer."""
        if not found.alone or found.replicas != 1:
            return None
        try:
            response = await self._client.get(
                target.url(model_path(model, "stats")), headers=target.headers()
            )
            return counters(response.json())
        except (httpx.HTTPError, ValueError):
            return None

    async def _fail(self, call_id: object, error: Exception) -> None:
        code, message, triton, status = _explain(error)
        frame: dict[str, Any] = {
            "type": "error",
            "code": code,
            "message": message,
            "triton": triton,
            "status": status,
        }
        if isinstance(call_id, str):
            frame["id"] = call_id
        await self._send(frames.dump(frame))


def _explain(error: Exception) -> tuple[str, str, str, int | None]:
    """Code, message, the server's words, status."""
    match error:
        case InferenceFailed():
            return error.code, str(error), error.triton, error.status or None
        case TensorError():
            return "InvalidInput", str(error), "", None
        case frames.BadRequest():
            return error.code, str(error), "", None
        case DomainError():
            return error.code, error.message, "", None
        case _:
            logger.error("The console failed", exc_info=error)
            return "InternalError", UNFORESEEN, "", None


def _response(call_id: str, part: Part) -> str:
    return frames.dump(
        {
            "type": "response",
            "id": call_id,
            "index": part.index,
            "at_us": round(part.at_us, 1),
            "outputs": [show_output(output) for output in part.outputs],
        }
    )


def _result(call_id: str, answer: Answer, before: Counters | None, after: Counters | None) -> str:
    measured = timing(
        total_us=answer.total_us, upstream_us=answer.upstream_us, before=before, after=after
    )
    return frames.dump(
        {
            "type": "result",
            "id": call_id,
            "outputs": [show_output(output) for output in answer.outputs],
            "timing": measured,
            "model_version": answer.model_version,
            "deployment": answer.deployment,
            "max_values": MAX_VALUES_SHOWN,
        }
    )

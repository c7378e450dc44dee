"""The test bench of one socket: metadata and inferences of one endpoint, through the gateway."""

import asyncio
import json
import logging
from typing import Any, Protocol

import grpc
import httpx
from channels.db import database_sync_to_async
from django.conf import settings

from controlplane.console import frames
from controlplane.console.inference import (
    Answer,
    InferenceFailed,
    Target,
    infer_grpc,
    infer_http,
    model_path,
)
from controlplane.console.models_served import Served, Specification, as_running, served
from controlplane.console.tensors import (
    MAX_VALUES_SHOWN,
    Tensor,
    TensorError,
    check_against,
    read_input,
    show_output,
)
from controlplane.console.timing import Counters, counters, timing
from controlplane.core.errors import DomainError
from controlplane.deployments.services.keys import endpoint_key_use

logger = logging.getLogger(__name__)

MAX_FRAME_CHARS = 16 << 20
MAX_IN_FLIGHT = 4
SIDE_CALL_TIMEOUT_S = 5.0
UNFORESEEN = "Something unforeseen went wrong; the log has the cause."
GRPC_OPTIONS = [("grpc.max_receive_message_length", 256 << 20)]


class Send(Protocol):
    async def __call__(self, frame: str) -> None: ...


class Bench:
    def __init__(self, endpoint: str, send: Send) -> None:
        self.endpoint = endpoint
        self._send = send
        self._client = httpx.AsyncClient(trust_env=False, timeout=SIDE_CALL_TIMEOUT_S)
        self._channel: grpc.aio.Channel | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()
        if self._channel is not None:
            await self._channel.close()

    async def receive(self, text: str, *, may_infer: bool) -> None:
        """Answer one request; inferences answer later, so that several may be on their way."""
        request: dict[str, Any] = {}
        try:
            request = await asyncio.to_thread(_parse, text)
            match request.get("op"):
                case "metadata":
                    await self._metadata(str(request.get("deployment") or ""))
                case "infer":
                    if not may_infer:
                        raise InferenceFailed("Forbidden", "Your role may look, but not call.")
                    await self._start(request)
                case other:
                    raise frames.BadRequest(
                        "BadRequest", f"op: expected metadata or infer, got {other!r:.80}."
                    )
        except Exception as error:
            await self._fail(request.get("id"), error)

    async def _metadata(self, deployment: str) -> None:
        found, target = await self._target(deployment)
        pinned = Target(target.base_url, target.endpoint, target.key, found.deployment)
        models = [await as_running(self._client, pinned, model) for model in found.models]
        await self._send(frames.dump({"type": "metadata", "models": models}))

    async def _start(self, request: dict[str, Any]) -> None:
        if len(self._tasks) >= MAX_IN_FLIGHT:
            raise InferenceFailed("Busy", f"At most {MAX_IN_FLIGHT} calls at a time.", status=429)
        call_id = request.get("id")
        if not isinstance(call_id, str) or not 0 < len(call_id) <= 100:
            raise frames.BadRequest("BadRequest", "id: expected a text of 1 to 100 characters.")
        await self._send(frames.dump({"type": "accepted", "id": call_id}))
        task = asyncio.create_task(self._infer(call_id, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _infer(self, call_id: str, request: dict[str, Any]) -> None:
        try:
            found, target = await self._target(str(request.get("deployment") or ""))
            inputs = await asyncio.to_thread(_inputs, request)
            specification = await self._specification(found, target, request)
            check_against(inputs, specification["inputs"], specification["max_batch_size"])
            before = await self._counters(found, target, specification["name"])
            answer = await self._call(found, target, specification["name"], inputs, request)
            after = await self._counters(found, target, specification["name"])
            frame = await asyncio.to_thread(_result, call_id, answer, before, after)
            await self._send(frame)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            await self._fail(call_id, error)

    async def _target(self, deployment: str) -> tuple[Served, Target]:
        found = await database_sync_to_async(served)(self.endpoint, deployment)
        key = await database_sync_to_async(endpoint_key_use)(name=self.endpoint)
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

    async def _call(
        self,
        found: Served,
        target: Target,
        model: str,
        inputs: list[Tensor],
        request: dict[str, Any],
    ) -> Answer:
        outputs = request.get("outputs") or []
        if not isinstance(outputs, list) or not all(isinstance(name, str) for name in outputs):
            raise frames.BadRequest("BadRequest", "outputs: expected a list of names.")
        # why longer than the gateway's own limit: its answer says more than our giving up
        timeout_s = found.request_timeout_ms / 1000 + 10
        if request.get("protocol", "http") == "grpc":
            if self._channel is None:
                self._channel = grpc.aio.insecure_channel(target.grpc_target, GRPC_OPTIONS)
            return await infer_grpc(self._channel, target, model, inputs, outputs, timeout_s)
        return await infer_http(self._client, target, model, inputs, outputs, timeout_s)

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


def _parse(text: str) -> dict[str, Any]:
    if len(text) > MAX_FRAME_CHARS:
        raise frames.BadRequest(
            "TooLarge", f"A request has at most {MAX_FRAME_CHARS >> 20} Mi characters."
        )
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise frames.BadRequest("BadRequest", f"Not JSON: {error}") from error
    if not isinstance(data, dict):
        raise frames.BadRequest("BadRequest", "Expected a JSON object.")
    return data


def _inputs(request: dict[str, Any]) -> list[Tensor]:
    inputs = request.get("inputs")
    if not isinstance(inputs, list):
        raise TensorError("inputs: expected a list.")
    return [read_input(item) for item in inputs]


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

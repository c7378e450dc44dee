"""Asks a runtime process how it is: listening, ready, warm, or why not."""

import asyncio
import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from node_agent import answers
from node_agent.reasons import load_failed
from wire.own_requests import FIRST_INFERENCE

FIRST_POLL_S, POLL_S = 0.01, 0.1
LATE = 0.1  # share of the wait so far by which readiness is noticed late at most
TIMEOUT_S = 5.0
WARM_TIMEOUT_S = 60.0
SAID_BYTES = 500  # of a refusal
WARM_LIMIT_BYTES = 256 * 2**20
# Of models around scoring scripts, which fail at zeros as at any text that is no request of theirs.
SCORING_SCRIPT = "AZUREML_ENTRY_SCRIPT"
# A whole sequence of one request, with an identifier that no client is likely to choose.
WARM_SEQUENCE = {"sequence_id": 2**63 - 1, "sequence_start": True, "sequence_end": True}
ITEM_BYTES = {
    "BOOL": 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "FP16": 2, "BF16": 2,
    "UINT32": 4, "INT32": 4, "FP32": 4, "UINT64": 8, "INT64": 8, "FP64": 8,
    "BYTES": 4,  # an empty string is its length alone
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ports:
    http: int
    grpc: int
    metrics: int


def read_ports(ready_file: Path, pid: int) -> Ports | None:
    """The ports that process `pid` was given; None where that is not written."""
    try:
        data = json.loads(ready_file.read_text())
        if data["pid"] != pid:
            return None
        return Ports(int(data["http_port"]), int(data["grpc_port"]), int(data["metrics_port"]))
    except (OSError, ValueError, KeyError):
        return None


def write_ports(ready_file: Path, pid: int, ports: Ports) -> None:
    """For the agent that comes after us: which ports process `pid` has."""
    told = {"http_port": ports.http, "grpc_port": ports.grpc, "metrics_port": ports.metrics}
    ready_file.write_text(json.dumps({"pid": pid, **told}))


class RuntimeProbe:
    """Calls one runtime over HTTP; close it after use."""

    def __init__(self, host: str, port: int) -> None:
        self._http = answers.client(TIMEOUT_S, f"http://{host}:{port}/")

    async def close(self) -> None:
        await self._http.aclose()

    async def until_ready(self, models: tuple[str, ...]) -> None:
        """Wait until every one of `models` (all in the repository when empty) is ready.

        Raises ReplicaFailed (ModelLoadFailed, GpuOutOfMemory) as soon as the runtime says that
        one cannot be loaded.
        """
        began = time.monotonic()
        while True:
            index = await self._index()
            for entry in index:
                _raise_if_failed(entry, models)
            if await self._all_ready(models or tuple({str(entry["name"]) for entry in index})):
                return
            await asyncio.sleep(pause_s(time.monotonic() - began))

    async def live(self, timeout_s: float = TIMEOUT_S) -> bool:
        return bool(await self.says_live(timeout_s))

    async def says_live(self, timeout_s: float = TIMEOUT_S) -> bool | None:
        """What the runtime answers; None where it does not."""
        try:
            answer = await self._http.get("v2/health/live", timeout=timeout_s)
            return answer.is_success
        except httpx.HTTPError:
            return None

    async def ready(self, models: tuple[str, ...]) -> bool:
        """Whether the runtime and every one of ``models`` is ready now."""
        return await self._all_ready(models or await self.names())

    async def names(self) -> tuple[str, ...]:
        """The models of the repository, sorted."""
        return tuple(sorted({str(entry["name"]) for entry in await self._index()}))

    async def warm(self, model: str) -> str:
        """One inference with zeros; empty when it worked, else what the runtime answered.

        A refusal is no failure of the replica: a model may have rules that zeros break.
        """
        path = f"v2/models/{quote(model, safe='')}"
        try:
            metadata = (await self._http.get(path)).raise_for_status().json()
            config = (await self._http.get(f"{path}/config")).raise_for_status().json()
            if SCORING_SCRIPT in config.get("parameters", {}):
                return ""
            body = _zeros(metadata["inputs"], WARM_SEQUENCE if _has_sequences(config) else {})
            if body is None:
                return "its smallest input is too large to try"
            head, tensors = body
            said = b""
            async with self._http.stream(
                "POST",
                f"{path}/infer",
                content=head + tensors,
                headers={
                    "Content-Type": "application/octet-stream",
                    "Inference-Header-Content-Length": str(len(head)),
                },
                timeout=WARM_TIMEOUT_S,
                extensions={answers.MOST_BYTES: sys.maxsize},  # none of it is kept
            ) as response:
                async for chunk in response.aiter_raw():
                    said = (said + chunk)[:SAID_BYTES]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            return str(error) or type(error).__name__
        return "" if response.is_success else said.decode(errors="replace")

    async def _index(self) -> list[dict[str, Any]]:
        """The repository index, failures included; empty while the runtime does not answer."""
        try:
            response = await self._http.post("v2/repository/index", content=b'{"failures": true}')
            answer = response.json() if response.is_success else []
        except (httpx.HTTPError, ValueError):
            return []
        return answer if isinstance(answer, list) else []

    async def _all_ready(self, models: tuple[str, ...]) -> bool:
        try:
            if not (await self._http.get("v2/health/ready")).is_success:
                return False
            for model in models:
                if not (
                    await self._http.get(f"v2/models/{quote(model, safe='')}/ready")
                ).is_success:
                    return False
        except httpx.HTTPError:
            return False
        return bool(models)


def pause_s(waited_s: float) -> float:
    """Between two looks at a runtime: requests may wait for it, and one that takes minutes is not
    asked all the time."""
    return min(max(FIRST_POLL_S, waited_s * LATE), POLL_S)


def _raise_if_failed(entry: dict[str, Any], models: tuple[str, ...]) -> None:
    name, reason = str(entry.get("name", "")), str(entry.get("reason", ""))
    # why "unloaded" is no failure: version policies leave older versions in that state.
    failed = entry.get("state") == "UNAVAILABLE" and reason not in {"", "unloaded", "unloading"}
    if failed and (not models or name in models):
        raise load_failed(name, reason)


def _has_sequences(config: dict[str, Any]) -> bool:
    return bool(config.get("sequence_batching"))


def _zeros(
    inputs: list[dict[str, Any]], parameters: dict[str, Any] | None = None
) -> tuple[bytes, bytes] | None:
    """JSON head and binary tensors of the smallest request; None when it would be too large."""
    described, sizes = [], []
    for tensor in inputs:
        shape = [1 if dim < 0 else dim for dim in (int(dim) for dim in tensor["shape"])]
        size = math.prod(shape) * ITEM_BYTES[tensor["datatype"]]
        sizes.append(size)
        described.append(
            {
                "name": tensor["name"],
                "datatype": tensor["datatype"],
                "shape": shape,
                "parameters": {"binary_data_size": size},
            }
        )
    if sum(sizes) > WARM_LIMIT_BYTES:
        return None
    sent = {"binary_data_output": True, **(parameters or {})}
    request = {"id": FIRST_INFERENCE, "inputs": described, "parameters": sent}
    head = json.dumps(request).encode()
    return head, bytes(sum(sizes))

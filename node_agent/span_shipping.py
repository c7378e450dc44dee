"""Sends the spans of replicas to a collector of OpenTelemetry, as a replica in its sandbox reaches
none.

What a replica says is a stranger's: only its spans are passed on, whose they are the agent says.
"""

import asyncio
import logging
from collections import deque
from typing import Final

import httpx
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from node_agent import answers
from node_agent.fleet import Fleet
from wire.messages import DesiredReplica

logger = logging.getLogger(__name__)

REST_S: Final = 1.0
TIMEOUT_S: Final = 5.0
MOST_ANSWERS: Final = 8  # of a replica in one round
MOST_WAITING: Final = 16 << 20  # bytes that the collector has not taken; older ones are left out
SERVICE: Final = "triton-inference-server"  # as runtimes call themselves
_TOO_MANY: Final = 429
# What runtimes are started with: they keep spans of requests whose caller, the gateway, has one.
FLAGS: Final = (
    "--trace-config=mode=opentelemetry",
    "--trace-config=opentelemetry,url=agent",
    "--trace-config=level=TIMESTAMPS",
    "--trace-config=rate=0",
)


class SpanShipping:
    """``run_once`` is a step of the agent's loops. ``url``: where spans are sent by OTLP."""

    def __init__(self, fleet: Fleet, url: str, node: str) -> None:
        self._fleet = fleet
        self._url = url
        self._node = node
        self._replicas = answers.client(TIMEOUT_S)
        self._collector = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False)
        self._waiting: deque[bytes] = deque()
        self._away = False

    async def run_once(self) -> None:
        """Ask the replicas, then send what waits."""
        serving = self._fleet.serving()
        await asyncio.gather(*(self._take(one, seen.metrics_port) for one, seen in serving))
        await self._send()
        await asyncio.sleep(REST_S)

    async def _take(self, replica: DesiredReplica, port: int) -> None:
        """What it has, as far as it says so in time: others are sent then."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                for _ in range(MOST_ANSWERS):
                    answer = await self._replicas.get(f"http://127.0.0.1:{port}/spans")
                    said = answer.raise_for_status().content
                    if not said:
                        return
                    self._keep(stamped(said, replica, self._node))
        except (TimeoutError, httpx.HTTPError, DecodeError) as error:
            logger.debug("No spans of %s: %r", replica.replica_id, error)

    def _keep(self, spans: bytes) -> None:
        self._waiting.append(spans)
        while sum(map(len, self._waiting)) > MOST_WAITING:
            self._waiting.popleft()

    async def _send(self) -> None:
        """One after the other. What cannot be sent waits, what is refused does not."""
        while self._waiting:
            try:
                answer = await self._collector.post(
                    self._url,
                    content=self._waiting[0],
                    headers={"Content-Type": "application/x-protobuf"},
                )
                later = answer.status_code == _TOO_MANY or answer.is_server_error
                trouble = "" if answer.is_success else f"it answers {answer.status_code}"
            except httpx.HTTPError as error:
                later, trouble = True, str(error) or type(error).__name__
            if trouble and not self._away:
                logger.warning("The collector of spans at %s: %s", self._url, trouble)
            elif self._away and not trouble:
                logger.warning("The collector of spans takes them again")
            self._away = bool(trouble)
            if later:
                return
            self._waiting.popleft()

    async def close(self) -> None:
        await self._replicas.aclose()
        await self._collector.aclose()


def stamped(said: bytes, replica: DesiredReplica, node: str) -> bytes:
    """A request of OTLP with the spans of ``said``, another one. Raises DecodeError."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for name, value in {
        "service.name": SERVICE,
        "shoal.endpoint": replica.endpoint,
        "shoal.deployment": replica.deployment,
        "shoal.replica": replica.replica_id,
        "host.name": node,
    }.items():
        group.resource.attributes.add(key=name).value.string_value = value
    # why one group: as many as fit into an answer, each named, would be a hundred times its bytes
    for found in ExportTraceServiceRequest.FromString(said).resource_spans:
        group.scope_spans.MergeFrom(found.scope_spans)
    return bytes(request.SerializeToString())

"""The node's samples: what its runtimes count, what their processes take, and what it is itself."""

import asyncio
import logging
import time
from hashlib import sha256

import httpx

from node_agent import answers, sampler
from node_agent.fleet import Fleet
from node_agent.machine import Machine
from node_agent.request_traces import RequestTraces
from node_agent.usage import Usage, usages
from node_agent.waits import ProcessorWaits
from wire.messages import DesiredReplica, ObservedReplica
from wire.samples import ModelCounters, ReplicaSample, SampleBatch

logger = logging.getLogger(__name__)

NODE_INTERVAL_S = 1.9  # between samples of the machine itself, however often replicas are sampled
# Where nobody watches and nothing has changed; a replica that is silent for 6 s shows a gap.
RESTING_S = 5.0
LATELY_S = 6.0  # so long what a round saw of processes does for a report, too
SETTLED = ("ready", "failed", "stopped")


class Sampling:
    """Of all that the fleet serves; connections to the runtimes stay open between rounds."""

    def __init__(self, fleet: Fleet, machine: Machine) -> None:
        self._fleet = fleet
        self._machine = machine
        self._client = answers.client(sampler.TIMEOUT_S)
        self._described_at = float("-inf")
        self._seen: dict[str, tuple[bytes, tuple[ModelCounters, ...]]] = {}
        self._still = False
        self._waits = ProcessorWaits()
        self._taken: tuple[float, dict[int, Usage]] = (float("-inf"), {})
        self.traces = RequestTraces()

    def rest_s(self, told_s: float) -> float:
        """How long to wait between rounds where ``told_s`` is asked for."""
        # why none while something starts: what it counts from its first second on must be seen
        settled = all(seen.state in SETTLED for seen in self._fleet.observed())
        rests = self._still and settled and told_s >= sampler.INTERVAL_S
        return max(told_s, RESTING_S) if rests else told_s

    async def round(self) -> SampleBatch | None:
        """None where there is nothing to say."""
        found = []
        before, self._seen = self._seen, {}
        for replica, seen in self._fleet.serving():
            try:
                said = await sampler.scrape(self._client, "127.0.0.1", seen.metrics_port)
                models = await self._counters(replica.replica_id, said.models, before)
            except (httpx.HTTPError, ValueError) as error:
                logger.debug("No sample of %s: %s", replica.replica_id, error)
                continue
            self._fleet.sampled(replica.replica_id, seen.pid, models)
            await self._look(replica, seen, before)
            found.append((replica, seen, said, models, time.time()))
        self._still = self._seen == before
        pids = {seen.pid for _, seen, *_ in found if seen.pid}
        taken, waited = await asyncio.to_thread(self._used, pids)
        samples = tuple(
            ReplicaSample(
                replica_id=replica.replica_id,
                endpoint=replica.endpoint,
                deployment=replica.deployment,
                at=at,
                models=models,
                memory_bytes=taken[seen.pid].memory_bytes if seen.pid else 0,
                cpu_seconds=taken[seen.pid].cpu_seconds if seen.pid else 0.0,
                started_at=seen.started_at,
                waited_s=waited.get(seen.pid, 0.0),
                loop_looks=said.loop_looks,
                loop_late_s=said.loop_late_s,
            )
            for replica, seen, said, models, at in found
        )
        node = None
        if time.monotonic() - self._described_at >= NODE_INTERVAL_S:
            self._described_at = time.monotonic()
            node = self._machine.describe()
        traced = self.traces.take({replica.replica_id for replica, *_ in found})
        return SampleBatch(samples, node, traced) if samples or node else None

    async def _look(
        self,
        replica: DesiredReplica,
        seen: ObservedReplica,
        before: dict[str, tuple[bytes, tuple[ModelCounters, ...]]],
    ) -> None:
        """At single requests, where there were some."""
        known = before.get(replica.replica_id)
        busy = known != self._seen[replica.replica_id]
        try:
            await self.traces.look(self._client, replica, seen.pid, seen.metrics_port, busy=busy)
        except (httpx.HTTPError, ValueError) as error:
            logger.debug("No single requests of %s: %s", replica.replica_id, error)

    def _used(self, pids: set[int]) -> tuple[dict[int, Usage], dict[int, float]]:
        taken = usages(pids)
        self._taken = time.monotonic(), taken
        return taken, self._waits.add(taken)

    def taken_lately(self) -> dict[int, Usage]:
        """By what was sampled in the last round; empty where that is long ago."""
        at, taken = self._taken
        return taken if time.monotonic() - at < LATELY_S else {}

    async def _counters(
        self,
        replica_id: str,
        text: str,
        before: dict[str, tuple[bytes, tuple[ModelCounters, ...]]],
    ) -> tuple[ModelCounters, ...]:
        """Parsed only where they have changed. Raises ValueError."""
        digest = sha256(text.encode()).digest()
        known = before.get(replica_id)
        if known is None or known[0] != digest:
            known = digest, await asyncio.to_thread(sampler.parse, text)
        self._seen[replica_id] = known
        return known[1]

    async def close(self) -> None:
        await self._client.aclose()

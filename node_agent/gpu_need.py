"""How much of a GPU a replica needs that did not fit into one."""

import asyncio

from node_agent import gpus, launch
from node_agent.record import Record
from wire.messages import Problem
from worker_runtime.types.gpu_memory import gpu_bytes_wanted

COMING_UP = ("starting", "loading", "warming")


class GpuNeed:
    def __init__(self, record: Record) -> None:
        self._record = record
        self._free = 0  # when the runtime was started, and no other one was on its way

    async def look(self) -> None:
        """At what is free, before a start."""
        record = self._record
        visible = launch.environment(record.host.sandbox.inherited, record.replica).get(
            gpus.VISIBLE
        )
        found = await asyncio.to_thread(gpus.gpus, visible)
        self._free = 0 if self._others_come_up() else gpus.free_bytes(found)

    def least_bytes(self, problem: Problem) -> int:
        """At least so much of one GPU, by its words and what was free before; 0: unknown."""
        if problem.code != "GpuOutOfMemory":
            return 0
        free = 0 if self._others_come_up() else self._free
        return max(gpu_bytes_wanted(problem.detail), free + 1 if free else 0)

    def _others_come_up(self) -> bool:
        own = self._record.replica.replica_id
        states = self._record.host.states.items()
        return any(key != own and state in COMING_UP for key, state in states)

"""Runs the load sweep that the node is asked for: the load client, in a process of its own.

One at most, on a replica of this node, and only as long as it is desired. The process reads a pipe
of ours for as long as it works, so that it ends with us however that comes about.
"""

import asyncio
import contextlib
import dataclasses
import json
import logging
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from load_client.plans import BadPlan, check, longest_s
from node_agent import process
from node_agent.fleet import Fleet
from wire import codec
from wire.load import DesiredLoad, LoadPoint
from wire.messages import DesiredState, ObservedLoad, Problem

logger = logging.getLogger(__name__)
# why -P: where the agent runs is no place to import from
PROGRAM: Final = (sys.executable, "-P", "-m", "load_client")
SAID_BYTES: Final = 4000


class LoadSweeps:
    """Use from one event loop; close it. ``host`` is where replicas of this node listen."""

    def __init__(
        self,
        fleet: Fleet,
        host: str,
        environment: Mapping[str, str],
        changed: Callable[[], None],
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._fleet = fleet
        self._host = host
        self._environment = environment
        self._changed = changed
        self._program = program
        self._observed: ObservedLoad | None = None
        self._work: asyncio.Task[None] | None = None

    def observed(self) -> tuple[ObservedLoad, ...]:
        return () if self._observed is None else (self._observed,)

    def apply(self, desired: DesiredState) -> None:
        """Begin what is desired, end what is not; returns at once. After ``Fleet.apply``: an older
        state is ignored."""
        if desired.generation < self._fleet.generation:
            return
        wanted = desired.loads[0] if desired.loads else None
        known = self._observed.load_id if self._observed else ""
        if wanted is not None and wanted.load_id == known:
            return
        before = self._work
        if before is not None:
            before.cancel()
        self._work = self._observed = None
        if wanted is None:
            return
        self._observed = ObservedLoad(wanted.load_id, "running")
        if wanted.begun:
            self._fail(Problem("AgentRestarted", "The node's agent was started anew meanwhile."))
        else:
            self._work = asyncio.create_task(self._run(wanted, before))

    async def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def _run(self, load: DesiredLoad, before: asyncio.Task[None] | None) -> None:
        if before is not None:  # one process at a time
            await asyncio.gather(before, return_exceptions=True)
        try:
            check(load.plan)
            await self._measure(load, self._port(load.replica_id))
        except _Failed as failed:
            self._fail(failed.problem)
        except BadPlan as error:
            self._fail(Problem("BadArgument", str(error)))
        except (OSError, ValueError) as error:
            self._fail(Problem("LoadClientFailed", f"The load client cannot be used: {error}"))

    def _port(self, replica_id: str) -> int:
        """Raises _Failed."""
        seen = self._fleet.listening(replica_id)
        if seen is not None and seen.state == "ready":
            return seen.http_port
        raise _Failed(Problem("ReplicaNotReady", "The replica is not ready on its node any more."))

    async def _measure(self, load: DesiredLoad, port: int) -> None:
        """Raises _Failed, OSError, ValueError."""
        job = {
            "plan": codec.as_data(load.plan),
            "host": self._host,
            "port": port,
            "longest_s": math.ceil(longest_s(load.plan)),
        }
        logger.info("Load sweep %s on replica %s begins", load.load_id, load.replica_id)
        client = await asyncio.create_subprocess_exec(
            *self._program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        assert client.stdin and client.stdout and client.stderr  # noqa: S101 - pipes
        said = asyncio.create_task(_last(client.stderr))
        try:
            client.stdin.write(json.dumps(job).encode() + b"\n")
            with contextlib.suppress(ConnectionError):  # its end tells why
                await client.stdin.drain()
            async for line in client.stdout:
                self._hear(json.loads(line))
            status = await client.wait()
            if self._observed is not None and self._observed.state == "running":
                told = process.describe_exit(status)
                text = f"The load client {told} before it was done."
                raise _Failed(Problem("LoadClientEnded", text, detail=await said))
        finally:
            if client.returncode is None:
                client.kill()
                await client.wait()
            said.cancel()
            logger.info("Load sweep %s has ended", load.load_id)

    def _hear(self, message: dict[str, Any]) -> None:
        """A line of the client. Raises _Failed, ValueError."""
        assert self._observed is not None  # noqa: S101 - it is set as long as this runs
        if "point" in message:
            point = codec.from_data(LoadPoint, message["point"])
            self._set(points=(*self._observed.points, point))
        elif "failed" in message:
            raise _Failed(codec.from_data(Problem, message["failed"]))
        else:
            self._set(state="finished", stopped_by=str(message["stopped_by"]))

    def _fail(self, problem: Problem) -> None:
        self._set(state="failed", error=problem)

    def _set(self, **changes: Any) -> None:
        if self._observed is not None:
            self._observed = dataclasses.replace(self._observed, **changes)
            self._changed()


class _Failed(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


async def _last(stream: asyncio.StreamReader) -> str:
    kept = b""
    while data := await stream.read(SAID_BYTES):
        kept = (kept + data)[-SAID_BYTES:]
    return kept.decode(errors="replace")

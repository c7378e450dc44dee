"""Watches a runtime from its start to its end: loading, warm, answering, within its disk."""

import asyncio
import time
from typing import Any

from node_agent import health, launch, process, trial
from node_agent.failure import ReplicaFailed, size
from node_agent.launch import RuntimeCrashed
from node_agent.probe import RuntimeProbe
from node_agent.process import ProcessIdentity
from node_agent.record import Record
from node_agent.scratch import Scratch, Uncountable

LIVE_INTERVAL_S = 5.0
SILENCE_LIMIT_S = 60.0  # a runtime that has not answered for so long is killed and started again
SCRATCH_INTERVAL_S = 5.0  # between two looks at how much it has written


class Watch:
    """Of one process, the record's."""

    def __init__(self, record: Record, identity: ProcessIdentity) -> None:
        self._record = record
        self._identity = identity

    async def until_end(self) -> None:
        """From listening to the end of the process. Raises RuntimeCrashed, ReplicaFailed."""
        ended = asyncio.create_task(process.exited(self._identity))
        work = asyncio.create_task(self._bring_up_and_watch())
        full = asyncio.create_task(self._until_full())
        tasks = (ended, work, full)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if full.done():
                await self._end_full(full.result())
            if ended.done():
                raise launch.ended(ended.result())
            work.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_full(self) -> str:
        """Until it has written more than it may; in words. No kernel counts that for a folder."""
        record = self._record
        most, scratch = record.host.sandbox.settings.disk_bytes, Scratch(record.folder.scratch)
        if not most:
            await asyncio.Event().wait()
        while True:
            await asyncio.sleep(SCRATCH_INTERVAL_S)
            try:
                used = await asyncio.to_thread(scratch.used_bytes)
            except Uncountable as error:
                return str(error)
            if used > most:
                return f"it had written {size(used)} into its own folders, and may {size(most)}"

    async def _end_full(self, why: str) -> None:
        """End it and remove what it wrote. Raises RuntimeCrashed, OSError."""
        await process.end(self._identity, grace_s=0.0)
        await asyncio.to_thread(Scratch(self._record.folder.scratch).clear)
        raise RuntimeCrashed(f"was ended: {why}")

    async def _bring_up_and_watch(self) -> None:
        record = self._record
        began = time.monotonic()
        timeout = record.replica.load_timeout_s
        try:
            async with asyncio.timeout(timeout):
                if not record.observed.http_port:  # adopted, and nobody knows where it listens
                    await process.end(self._identity, grace_s=1.0)
                    raise RuntimeCrashed("had to be ended: the file with its ports was lost")
                if not record.warm:
                    record.set(state="loading")
                probe = self._probe()
                try:
                    await self._load_and_warm(probe, began)
                except ReplicaFailed as error:
                    raise record.with_log(error) from error
                finally:
                    await probe.close()
        except TimeoutError as error:
            raise record.with_log(
                ReplicaFailed(
                    "LoadTimeout",
                    f"The model was not ready after {timeout:.0f} s.",
                    hints=("Raise the load timeout, or look at the log for what takes so long.",),
                )
            ) from error
        await self._until_hung()

    async def _load_and_warm(self, probe: RuntimeProbe, began: float) -> None:
        record = self._record
        replica, folder = record.replica, record.folder
        rule = replica.readiness
        if rule is not None and not record.warm:
            await asyncio.sleep(rule.initial_delay_s)
        await probe.until_ready(replica.models)
        if rule is not None and not record.warm:
            await health.until_ready(rule, lambda _: probe.ready(replica.models))
        if not record.warm:
            loaded = time.monotonic() - began
            record.set(state="warming", load_seconds=loaded)
            folder.note(f"models ready after {loaded:.1f} s")
            for model in replica.models or await probe.names():
                if refusal := await probe.warm(model):
                    folder.note(f"warning: first inference of {model}: {refusal}")
            record.warm = True
        findings = await self._findings()
        record.set(state="ready", error=None, ended="", **findings)
        record.journal()
        folder.note("ready")

    async def _findings(self) -> dict[str, Any]:
        """What a trial was started for; nothing for what serves."""
        record = self._record
        if not record.replica.trial:
            return {}
        host, port = record.host.local, record.observed.http_port
        configs = await trial.served_configs(host, port, record.replica.models)
        return {"configs": configs, "log": record.last_lines(trial.LOG_LINES)}

    async def _until_hung(self) -> None:
        """Until the runtime is silent for too long, or gives up; its exit is seen elsewhere."""
        probe = self._probe()
        rule = self._record.replica.liveness
        try:
            if rule is None:
                silence = await _until_given_up(probe)
            else:
                await health.until_dead(rule, probe.live)
                silence = f"has failed its liveness probe {rule.failure_threshold} times in a row"
        finally:
            await probe.close()
        self._record.folder.note(f"the runtime {silence}; ending it")
        await process.end(self._identity, grace_s=1.0)
        raise RuntimeCrashed("hung")

    def _probe(self) -> RuntimeProbe:
        return RuntimeProbe(self._record.host.local, self._record.observed.http_port)


async def _until_given_up(probe: RuntimeProbe) -> str:
    """The rule of our own, where the deployment sets none; in words.

    One that answers that it does not live has lost its GPU, and gets no better by waiting.
    """
    heard = time.monotonic()
    while time.monotonic() - heard < SILENCE_LIMIT_S:
        await asyncio.sleep(LIVE_INTERVAL_S)
        live = await probe.says_live()
        if live is False:
            return "says that it must be started again"
        if live:
            heard = time.monotonic()
    return f"has not answered for {SILENCE_LIMIT_S:.0f} s"

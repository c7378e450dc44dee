"""One loaded model version: configuration, signature, planner, scheduler and statistics."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from worker_runtime.backends.base import LoadedModel, SelfReporting
from worker_runtime.core.draining import wait_while_progressing
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.base import (
    NO_DELAYS,
    STANDALONE,
    Delays,
    Scheduler,
    SchedulingContext,
)
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.cached import CachedScheduler
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.scheduling.ensemble.outputs import labelled
from worker_runtime.core.scheduling.ensemble.scheduler import EnsembleScheduler
from worker_runtime.core.scheduling.limited import LimitedScheduler
from worker_runtime.core.scheduling.queue import QueueConfig, QueuePolicy
from worker_runtime.core.scheduling.sequence.config import SequenceConfig
from worker_runtime.core.scheduling.sequence.scheduler import SequenceScheduler
from worker_runtime.core.statistics import MemoryUsage, Statistics
from worker_runtime.errors import ConfigInvalid
from worker_runtime.observability.metrics.latency import (
    FIRST_RESPONSE_FAMILY,
    FIRST_RESPONSE_MS,
    Histogram,
    MetricsConfig,
    Summaries,
)
from worker_runtime.types.instances import places_of
from worker_runtime.types.repository import key_of
from worker_runtime.types.signature import Signature, batch_tensors_of

logger = logging.getLogger(__name__)
MAX_QUEUE_SIZE = "shoal_max_queue_size"
QUEUE_TIMEOUT_US = "shoal_queue_timeout_microseconds"
RUN_IN_FRONTENDS = "shoal_run_in_frontends"
_LAST_ANSWERS_S = 5.0


class Blueprint(Struct, frozen=True):
    """What loading produced: everything a version needs to go live."""

    name: str
    version: int
    config: Any
    signature: Signature
    loaded: LoadedModel
    load_duration_s: float
    sequence: SequenceConfig | None = None
    namespace: str = ""


class ModelVersion:
    """Built in the event loop; READY from construction until ``drain``."""

    def __init__(
        self,
        blueprint: Blueprint,
        loop: asyncio.AbstractEventLoop,
        context: SchedulingContext = STANDALONE,
    ) -> None:
        self.name = blueprint.name
        self.version = blueprint.version
        self.config = blueprint.config
        self.signature = blueprint.signature
        self.decoupled: bool = blueprint.config.model_transaction_policy.decoupled
        # Ensembles do not: their phases are the sums over their steps.
        self.executes = not blueprint.config.HasField("ensemble_scheduling")
        if not self.executes:
            self.signature = labelled(self.signature, self.config, context.resolve)
        self.statistics = Statistics(load_duration_s=blueprint.load_duration_s)
        self.statistics.memory = tuple(
            MemoryUsage(*row) for row in getattr(blueprint.loaded, "memory", ())
        )
        self._unload_timeout_s = context.unload_timeout_s
        self._keep(context.metrics)
        # Labels of its metrics beside name and version.
        self.metric_labels = {f"_{key}": tag for key, tag in self.config.metric_tags.items()}
        if blueprint.namespace:
            self.metric_labels["namespace"] = blueprint.namespace
        self.planner = Planner(blueprint.signature)
        # For the front ends: a request's raw header to its decoded form. They keep it bounded.
        # HTTP and gRPC apart: clients choose the bytes, so one could ask for the other's forms.
        self.forms: dict[bytes, Any] = {}
        self.wire_forms: dict[bytes, Any] = {}
        self.loaded = loaded = blueprint.loaded
        self._reporter = loaded if isinstance(loaded, SelfReporting) else None
        self._pins = 0
        self._unpinned: asyncio.Event | None = None  # while a drain waits for that
        scheduler = self._scheduler(blueprint, loop, context)
        cache = context.cache
        self.cached = cache is not None and self.config.response_cache.enable
        if cache is not None and self.cached:
            ordered = self.config.dynamic_batching.preserve_ordering
            key = key_of(self.name, blueprint.namespace)
            scheduler = CachedScheduler(scheduler, cache, key, self.version, ordered=ordered)
        self.scheduler: Scheduler = scheduler
        self.on_device = scheduler.takes_regions  # its inputs may lie there

    def _keep(self, metrics: MetricsConfig) -> None:
        """Measure what was asked for beyond the counters."""
        if metrics.summaries:
            self.statistics.summaries = Summaries()
        if metrics.histograms and self.decoupled:
            bounds = first_response_bounds(self.config)
            self.statistics.first_response = Histogram(bounds or FIRST_RESPONSE_MS)

    def _scheduler(
        self, blueprint: Blueprint, loop: asyncio.AbstractEventLoop, context: SchedulingContext
    ) -> Scheduler:
        config, signature = blueprint.config, blueprint.signature
        if config.HasField("ensemble_scheduling"):
            return EnsembleScheduler(config, signature, context, self.statistics)
        places = places_of(config)
        limiter, longest_wait_ns = context.limiter, context.longest_wait_ns
        delays = context.delays
        if blueprint.sequence is not None:
            return SequenceScheduler(
                signature,
                blueprint.sequence,
                blueprint.loaded,
                loop,
                self.statistics,
                places,
                limiter,
                longest_wait_ns,
                delays,
            )
        settings = scheduler_config(config, longest_wait_ns, delays)
        if limiter is not None:
            return LimitedScheduler(
                signature, settings, blueprint.loaded, loop, self.statistics, places, limiter
            )
        return DynamicScheduler(
            signature, settings, blueprint.loaded, loop, self.statistics, places
        )

    @property
    def healthy(self) -> bool:
        """It can answer now: the process of a Python model may be on its way back."""
        return (self._reporter is None or self._reporter.ready()) and not self.device_lost

    @property
    def device_lost(self) -> bool:
        """A device that it runs on answers nothing any more, for as long as this process lives."""
        return any(getattr(item, "device_lost", False) for item in self.loaded.instances)

    def pin(self) -> None:
        """Somebody will submit again: keep from draining until ``unpin``."""
        self._pins += 1

    def unpin(self) -> None:
        self._pins -= 1
        if not self._pins and self._unpinned is not None:
            self._unpinned.set()

    async def wind_down(self) -> None:
        """Let sequences that have begun come to their end, then drain."""
        await self.scheduler.finish_sequences()
        await self.drain()

    async def resize(self, groups: Any, instances: Sequence[Any]) -> list[Any]:
        """Serve with ``instances``, laid out as the instance ``groups`` say.

        Returns those that left, once they have answered what they were given, or have not for too
        long. One with sequences that go on stays with them, and is closed behind our back.
        """
        wanted = {id(instance) for instance in instances}
        left = [item for item in self.loaded.instances if id(item) not in wanted]
        del self.config.instance_group[:]
        self.config.instance_group.extend(groups)
        ended = self.scheduler.resize(instances, places_of(self.config), _close_later)
        self.loaded.instances = instances
        if ended is None:
            return []
        answered = asyncio.get_running_loop().run_in_executor(None, ended)
        # why no progress: the instances that stay answer on, whatever these do.
        stuck = await wait_while_progressing(answered, lambda: 0, self._unload_timeout_s)
        if stuck is None:
            return left
        logger.error("instances of model '%s' that are to go hang: they are given up", self.name)
        return left if self._interruptible else []

    async def drain(self) -> None:
        """Finish what was accepted, then give the memory back.

        A model that gives no answer for too long meanwhile is given up: what waits fails, what runs
        fails where it runs in processes of its own. A call inside this process cannot be ended: it
        keeps the model's memory until it returns.
        """
        stuck = await wait_while_progressing(
            self._finish(), self.statistics.ends, self._unload_timeout_s
        )
        if stuck is None:
            await asyncio.get_running_loop().run_in_executor(None, self.loaded.close)
            return
        logger.error(
            "model '%s' version %d gave no answer for %g s while it was to be unloaded: it is "
            "given up",
            self.name,
            self.version,
            self._unload_timeout_s,
        )
        await self.close(interrupt=True)
        stuck.cancel()

    async def _finish(self) -> None:
        while self._pins:
            self._unpinned = asyncio.Event()
            await self._unpinned.wait()
        await self.scheduler.drain()

    @property
    def _interruptible(self) -> bool:
        return bool(getattr(self.loaded, "interruptible", False))

    async def close(self, *, interrupt: bool) -> None:
        """Fail what waits; with ``interrupt`` what runs, too, where processes of its own run it.

        Who asked for that has heard of it when this returns, unless a thread hangs in spite of it.
        """
        self.scheduler.close()
        if interrupt and self._interruptible:
            await asyncio.get_running_loop().run_in_executor(None, self.loaded.close)
            # why: failures are still on their way here, from threads that waited for the processes
            answered = asyncio.ensure_future(self.scheduler.drain())
            await asyncio.wait([answered], timeout=_LAST_ANSWERS_S)
            answered.cancel()


def first_response_bounds(config: Any) -> tuple[float, ...]:
    """Buckets that the configuration gives the histogram of first responses; () for none."""
    for control in config.model_metrics.metric_control:
        if control.metric_identifier.family == FIRST_RESPONSE_FAMILY:
            return tuple(control.histogram_options.buckets)
    return ()


def _close_later(instance: Any) -> None:
    """Close an instance that nothing runs on any more, outside the event loop."""
    close = getattr(instance, "close", None)
    if close is not None:
        asyncio.get_running_loop().run_in_executor(None, close)


def scheduler_config(
    config: Any, longest_wait_ns: int = 0, delays: Delays = NO_DELAYS
) -> SchedulerConfig:
    """The scheduling part of a complete ``inference.ModelConfig``.

    ``longest_wait_ns``: that nobody may wait beyond, whatever the configuration says; 0: no cap.
    ``delays`` hold batchers back.
    """
    decoupled = config.model_transaction_policy.decoupled
    if not config.HasField("dynamic_batching"):
        return SchedulerConfig(
            queue=QueueConfig(default=own_policy(config.parameters).capped(longest_wait_ns)),
            # why none with a cap: what waits behind an instance is out of the queue's reach.
            ahead=0 if longest_wait_ns else 1,
            decoupled=decoupled,
            tensors=batch_tensors_of(config),
        )
    batching = config.dynamic_batching
    return SchedulerConfig(
        batching=BatchingConfig(
            max_rows=max(1, config.max_batch_size),
            preferred=tuple(sorted(batching.preferred_batch_size)),
            delay_ns=batching.max_queue_delay_microseconds * 1000,
            dynamic=config.max_batch_size > 1,
        ),
        queue=QueueConfig(
            levels=batching.priority_levels,
            default_level=batching.default_priority_level,
            default=_policy(batching.default_queue_policy).capped(longest_wait_ns),
            by_level={
                level: _policy(policy).capped(longest_wait_ns)
                for level, policy in batching.priority_queue_policy.items()
            },
        ),
        preserve_ordering=batching.preserve_ordering,
        decoupled=decoupled,
        tensors=batch_tensors_of(config),
        first_at=delays.queued if config.max_batch_size > 1 else 0,
    )


def own_policy(parameters: Any) -> QueuePolicy:
    """Limits for a queue without dynamic batching, where Triton has none: our own parameters.

    Raises ConfigInvalid.
    """
    found = {}
    for name in (MAX_QUEUE_SIZE, QUEUE_TIMEOUT_US):
        text = parameters[name].string_value if name in parameters else "0"
        if not text.isdecimal():
            raise ConfigInvalid(f"parameter '{name}' is '{text}', expected a whole number")
        found[name] = int(text)
    return QueuePolicy(
        max_size=found[MAX_QUEUE_SIZE],
        timeout_ns=found[QUEUE_TIMEOUT_US] * 1000,
        allow_override=found[QUEUE_TIMEOUT_US] > 0,
    )


def wants_front_ends(parameters: Any) -> bool:
    """Whether front ends are to run the model themselves, where they can.

    Raises ConfigInvalid.
    """
    if RUN_IN_FRONTENDS not in parameters:
        return False
    text = parameters[RUN_IN_FRONTENDS].string_value
    if text not in ("true", "false"):
        raise ConfigInvalid(f"parameter '{RUN_IN_FRONTENDS}' is '{text}', expected true or false")
    return bool(text == "true")


def _policy(policy: Any) -> QueuePolicy:
    return QueuePolicy(
        max_size=policy.max_queue_size,
        timeout_ns=policy.default_timeout_microseconds * 1000,
        allow_override=policy.allow_timeout_override,
        delay=policy.timeout_action == 1,
    )

"""The life of models: load, swap, unload, poll, index. One bad model never takes others down.

Reading a repository is serialised; what follows runs in parallel for models that have nothing to
do with one another, and waits while one of them is being changed by somebody else.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from worker_runtime.core.directory import Directory
from worker_runtime.core.lifecycle import dependencies
from worker_runtime.core.lifecycle.records import Known, index_rows
from worker_runtime.core.lifecycle.serving import Serving
from worker_runtime.core.lifecycle.survey import Findings, Surveyor, touched
from worker_runtime.core.loading import LoadingRules, ModelPlan
from worker_runtime.core.model import Blueprint, ModelVersion
from worker_runtime.core.response_cache import ResponseCache
from worker_runtime.core.scheduling.base import NO_DELAYS, Delays, SchedulingContext
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.errors import (
    Internal,
    InvalidArgument,
    LoadFailed,
    RuntimeFault,
    Unavailable,
    Unsupported,
)
from worker_runtime.observability.metrics.latency import MetricsConfig
from worker_runtime.repository import ensembles
from worker_runtime.types.repository import LoadOverride, ModelState, display_name, name_of

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Manager:
    """``explicit``: models come and go through the API only.

    With ``namespacing`` models of one name from several repositories are served side by side.
    """

    def __init__(
        self,
        repositories: Sequence[Path],
        rules: LoadingRules,
        *,
        explicit: bool,
        config_name: str = "",
        namespacing: bool = False,
        load_threads: int = 4,
        load_retries: int = 0,
        cache: ResponseCache | None = None,
        metrics: MetricsConfig | None = None,
        limiter: RateLimiter | None = None,
        unload_timeout_s: float = 60.0,
        longest_wait_ns: int = 0,
        delays: Delays = NO_DELAYS,
    ) -> None:
        self._explicit = explicit
        self._surveyor = Surveyor(repositories, rules, config_name, namespacing=namespacing)
        self._context = SchedulingContext(
            self.resolve,
            cache,
            metrics or MetricsConfig(),
            limiter,
            unload_timeout_s,
            longest_wait_ns,
            delays,
        )
        self._serving = Serving(rules, self._build, threads=load_threads, retries=load_retries)
        self._known: dict[str, Known] = {}
        # Why the last attempt failed: for people, and for ensembles that need the model.
        self._failures: dict[str, str] = {}
        self._unreadable: dict[str, str] = {}
        self._busy: set[str] = set()
        self._freed = asyncio.Condition()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.records = self._serving.records
        self.ready = self._serving.ready
        self.directory: Directory[ModelVersion] = Directory(self.ready, self._known, self._told)

    def _build(self, blueprint: Blueprint) -> ModelVersion:
        return ModelVersion(blueprint, asyncio.get_running_loop(), self._context)

    # --- asking --------------------------------------------------------------------------------

    def resolve(self, name: str, version: str = "") -> ModelVersion:
        """The READY version asked for ("" = the highest). Raises NotFound or Unavailable."""
        return self.directory.resolve(name, version)

    def key(self, name: str) -> str:
        """What the model of this name is kept under. Raises InvalidArgument when there are several.

        Only a server with namespacing has several; a key is its own.
        """
        return self.directory.key(name)

    @property
    def known(self) -> list[str]:
        """The keys of all models that are to be served."""
        return list(self._known)

    def told_versions(self) -> dict[str, list[int]]:
        """The numbers that each model was to have, by key; what nobody ever wanted is not there."""
        return {key: list(record.versions) for key, record in self.records.items()}

    def _told(self, key: str) -> Collection[int] | None:
        record = self.records.get(key)
        return record.versions if record is not None else None

    def watch(self, changed: Callable[[], None]) -> None:
        """Call ``changed``, in the event loop, whenever other versions are READY than before."""
        self._serving.watchers.append(changed)

    @property
    def all_ready(self) -> bool:
        """Every model that was to be served has versions, all READY or unloaded on purpose."""
        return self._serving.all_ready

    @property
    def versions(self) -> list[ModelVersion]:
        """The READY versions, by name and number."""
        return self._serving.versions

    def index(self, *, failures: bool = False) -> list[dict[str, str]]:
        """The models on disk, with the states and reasons of their versions. Raises OSError.

        ``failures`` adds why models could not even be read, which the protocol keeps to the log.
        """
        reasons = {**self._failures, **self._unreadable} if failures else None
        return index_rows(self._surveyor.paths(), self.records, reasons)

    # --- changing ------------------------------------------------------------------------------

    async def start(self, names: Sequence[str] | None) -> bool:
        """Load ``names`` (None: every model); True when all of them serve.

        Raises InvalidArgument or Internal when a repository cannot be used.
        """
        self._surveyor.check()
        if names is None:
            found = await self._change(lambda known: self._surveyor.everything(known))
        else:
            wanted = dict.fromkeys(names)
            found = await self._change(lambda known: self._surveyor.named(wanted, known), names)
        return not found.failed and all(
            (record := self.records.get(name)) is not None
            and record.versions
            and all(held.state is ModelState.READY for held in record.versions.values())
            for name in self._known
        )

    async def load(self, name: str, override: LoadOverride | None = None) -> None:
        """Load or reload through the API. The old version serves until the new one is complete.

        Raises Unavailable, InvalidArgument, Internal or LoadFailed in Triton's words.
        """
        self._check_explicit()
        _check_name(name)
        wanted = {name: override}
        found = await self._unharmed(
            self._change(lambda known: self._surveyor.named(wanted, known), [name])
        )
        keys = self.directory.keys(name)
        reasons = {key: found.failed[key] for key in found.refused if name_of(key) == name}
        for key in keys:
            if key in self._failures and key not in found.failed and key in found.changed:
                reasons[key] = self._failures[key]
        failures = "".join(
            f"load failed for model '{display_name(key)}': {reason}\n"
            for key, reason in reasons.items()
        )
        if failures:
            raise LoadFailed(failures)
        if found.failed:
            raise Internal(f"failed to load '{name}', failed to poll from model repository")
        if not any(key in self.records and self.records[key].versions for key in keys):
            raise Internal(f"failed to load '{name}', no version is available")

    async def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving; returns once the model is no longer READY. Unknown models are no error.

        ``unload_dependents`` also unloads what was loaded only because this ensemble needs it.
        """
        self._check_explicit()

        def gone(known: Mapping[str, Known]) -> Findings:
            keys = {key for key in known if name in (key, name_of(key))}
            if not unload_dependents:
                return Findings(gone=keys)
            explicit = {other for other, item in known.items() if item.explicit}
            configs = _configs(known)
            orphans = (dependencies.with_orphans(key, configs, explicit) for key in keys)
            return Findings(gone={key for group in orphans for key in group})

        await self._unharmed(self._change(gone, [name]))

    def register(self, repository: Path, names: Mapping[str, str]) -> None:
        """Load from there, too; ``names`` of models by folder, where they are to have others.

        Raises Unsupported outside of explicit mode, InvalidArgument or AlreadyExists.
        """
        self._check_registers()
        self._surveyor.register(repository, names)

    def unregister(self, repository: Path) -> None:
        """Look there no more. What was loaded serves on. Raises Unsupported or InvalidArgument."""
        self._check_registers()
        self._surveyor.unregister(repository)

    def _check_registers(self) -> None:
        if not self._explicit:
            raise Unsupported(
                "repository registration is not allowed if model control mode is not EXPLICIT"
            )

    async def poll(self) -> None:
        """Follow the repositories: load what came or changed, unload what has gone."""
        await self._change(lambda known: self._surveyor.everything(known, settled=True))

    async def keep_polling(self, interval_s: float) -> None:
        """``poll`` every ``interval_s`` seconds, until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            try:
                await self.poll()
            except Exception:
                logger.exception("polling the model repository failed")

    def give_up_loads(self) -> None:
        """The server stops: end what is being loaded, so that whoever waits for it goes on."""
        self._serving.give_up_loads()

    @property
    def still_loads(self) -> bool:
        """Whether a thread is at a load that cannot be ended."""
        return self._serving.still_loads

    async def close(self, timeout_s: float, hurried: asyncio.Event | None = None) -> bool:
        """Drain every version for at most ``timeout_s`` seconds, or until ``hurried`` is set.

        False when some of it still ran then.
        """
        return await self._serving.close(timeout_s, hurried or asyncio.Event())

    async def _unharmed(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end even when the client that asked goes away."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # why: whom it was for may have gone, and nobody asks any more

    async def _change(
        self, look: Callable[[Mapping[str, Known]], Findings], names: Iterable[str] = ()
    ) -> Findings:
        """Look, and bring about what was found. Waits while somebody changes the same models."""
        names = set(names)
        async with self._freed:
            while True:
                await self._freed.wait_for(lambda: not names & set(map(name_of, self._busy)))
                found = await asyncio.to_thread(look, dict(self._known))
                affected = self._affected(found)
                if not affected & self._busy:
                    break
                await self._freed.wait()
            self._commit(found)
            self._busy |= affected
        try:
            await self._carry_out(found)
        finally:
            async with self._freed:
                self._busy -= affected
                self._freed.notify_all()
        return found

    def _affected(self, found: Findings) -> set[str]:
        configs = _configs({**self._known, **found.changed})
        moved = {*found.changed, *found.gone}
        return moved | found.unchanged | dependencies.downstream(moved, configs, self._served())

    def _commit(self, found: Findings) -> None:
        for name in found.gone:
            self._known.pop(name, None)
        for name, known in found.changed.items():
            before = self._known.get(name)
            known.explicit = known.explicit or (before is not None and before.explicit)
            self._known[name] = known
        for name in {*found.gone, *found.changed}:
            self._failures.pop(name, None)
        for name in {*found.gone, *found.changed, *found.unchanged}:
            self._unreadable.pop(name, None)
        self._unreadable.update(found.failed)

    async def _carry_out(self, found: Findings) -> None:
        unloads = dependencies.PendingUnloads(found.gone, self.records, self._serving.unload)
        moved = {*found.changed, *found.gone}
        concerned = dependencies.downstream(moved, _configs(self._known), self._served())
        pending = set(found.changed) | (concerned & set(self._known))
        try:
            unloads.settle()
            while pending and not self._serving.stopping:
                ready = dependencies.next_round(pending, _configs(self._known))
                await asyncio.gather(*(self._bring_up(name, unloads) for name in sorted(ready)))
                pending -= ready
        finally:
            unloads.finish()

    async def _bring_up(self, name: str, unloads: dependencies.PendingUnloads) -> None:
        """Load one known model; an ensemble that cannot be any more goes, unless it still stands.

        why ``settle`` each time: whom it called before may be free now.
        """
        known = self._known[name]
        composed = ensembles.is_ensemble(known.plan.config)
        try:
            plan = self._composed(name, known.plan, unloads) if composed else known.plan
            await self._serving.load(
                name, plan, lambda version: touched(known.loaded_from, known.seen, version)
            )
        except RuntimeFault as error:
            if not isinstance(error, LoadFailed):  # of those the log knows already
                logger.error("%s", error)
            self._failures[name] = str(error)
            if composed:
                unloads.mark_outdated(name)
        else:
            self._failures.pop(name, None)
            known.loaded_from = known.seen
        unloads.settle()

    def _composed(
        self, name: str, plan: ModelPlan, unloads: dependencies.PendingUnloads
    ) -> ModelPlan:
        """The plan of an ensemble, completed by its parts. Raises InvalidArgument."""
        configs = _configs(self._known)
        parts = ensembles.composing(configs[name])
        loaded = {part: unloads.versions(part) for part in parts}
        invalid = {
            part: self._failures[part]
            for part in parts
            if part in self._failures and not loaded[part] and part in configs
            if ensembles.is_ensemble(configs[part])
        }
        reason = (
            ensembles.missing(configs[name], configs)
            or ensembles.circular(name, configs)
            or ensembles.invalid_upstream(configs[name], invalid)
            or ensembles.unmet(configs[name], loaded, self._failures)
        )
        if reason:
            raise InvalidArgument(reason)
        config = type(plan.config)()
        config.CopyFrom(configs[name])
        ensembles.complete_ensemble(config, {part: self.ready[part, ""].config for part in parts})
        return replace(plan, config=config)

    def _served(self) -> dict[str, Any]:
        """The configurations that serve: others than the known ones after a failed reload."""
        return {name: model.config for (name, version), model in self.ready.items() if not version}

    def _check_explicit(self) -> None:
        if not self._explicit:
            raise Unavailable("explicit model load / unload is not allowed if polling is enabled")


def _check_name(name: str) -> None:
    if not name:
        raise InvalidArgument("model name must not be empty")
    if not name.strip(" \t\n\v\f\r"):
        raise InvalidArgument("model name must not contain only whitespace characters")
    if ".." in name or "/" in name:
        raise InvalidArgument(
            f"invalid model name '{name}', model name must not contain path traversal characters"
        )


def _configs(known: Mapping[str, Known]) -> dict[str, Any]:
    return ensembles.in_namespaces({key: item.plan.config for key, item in known.items()})

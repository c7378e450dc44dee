"""What is served: versions are loaded beside the old ones, swapped in together, and drained.

Everything runs in the event loop but the loading itself, which has a few threads.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from worker_runtime import heap
from worker_runtime.backends.attempt import Attempt
from worker_runtime.core.draining import wait_unless_hurried
from worker_runtime.core.lifecycle.attempts import Attempts
from worker_runtime.core.lifecycle.changes import can_resize, plan_change, resize
from worker_runtime.core.lifecycle.records import ModelRecord, VersionState, status_text
from worker_runtime.core.loading import LoadingRules, ModelPlan, load_version
from worker_runtime.core.model import Blueprint, ModelVersion
from worker_runtime.errors import LoadFailed, RuntimeFault
from worker_runtime.types.repository import UNLOADED, ModelState

logger = logging.getLogger(__name__)

Build = Callable[[Blueprint], ModelVersion]


class Serving:
    """``retries``: how often a version that failed to load is tried again at once."""

    def __init__(
        self, rules: LoadingRules, build: Build, *, threads: int = 4, retries: int = 0
    ) -> None:
        self._rules = rules
        self._build = build
        self._retries = retries
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="load")
        self._attempts = Attempts()
        self._background: set[asyncio.Task[None]] = set()
        self.records: dict[str, ModelRecord] = {}
        # The data plane's view: (name, "") is the highest READY version, (name, "3") that one.
        self.ready: dict[tuple[str, str], ModelVersion] = {}
        self.watchers: list[Callable[[], None]] = []

    # --- loading -----------------------------------------------------------------------------

    async def load(self, name: str, plan: ModelPlan, touched: Callable[[int], bool]) -> None:
        """Serve ``plan``: all of its versions or, when one fails, what was served before.

        ``touched`` tells whether files of a version have changed. Raises LoadFailed, in the words
        that follow "load failed for model ...: ".
        """
        record = self.records.setdefault(name, ModelRecord(name))
        try:
            wanted = plan.versions
        except RuntimeFault as error:
            logger.error("failed to load model '%s': %s", name, error)
            raise LoadFailed(str(error)) from error
        for version in sorted(set(plan.config.version_policy.specific.versions) - set(wanted)):
            logger.error(
                "version %d is specified for model '%s', but the version directory is not present",
                version,
                name,
            )
        serving = {v: s.plan.config for v, s in record.versions.items() if _serves(s) and s.plan}
        change = plan_change(
            serving,
            wanted,
            plan.config,
            lambda version: touched(version) or not self._can_update(record, version, plan),
        )
        coming = {version: VersionState(ModelState.LOADING, plan=plan) for version in change.load}
        for version, state in coming.items():
            logger.info("loading: %s:%d", name, version)
            held = record.versions.get(version)
            if held is None or not _serves(held):
                record.versions[version] = state
        outcomes = await asyncio.gather(
            *(self._load_version(plan, version) for version in change.load),
            *(self._update_version(record, version, plan) for version in change.update),
        )
        failures = {version: text for version, text, _ in outcomes if text}
        models = {version: model for version, _, model in outcomes if model is not None}
        if failures:
            self._give_up(record, coming, models, failures)
        self._swap(record, coming, models)
        for version in change.drop:
            self._retire(name, version, record.versions[version])
        self._refresh(record)
        logger.info("successfully loaded '%s'", name)

    async def _load_version(
        self, plan: ModelPlan, version: int
    ) -> tuple[int, str, ModelVersion | None]:
        """The version, why it failed ("" if it did not), and the model."""
        run = asyncio.get_running_loop().run_in_executor
        name, text = plan.directory.name, ""
        for _ in range(self._retries + 1):
            try:
                load = partial(_load_and_trim, plan, version, self._rules)
                blueprint = await run(self._threads, self._attempts.run, load)
                return version, "", self._built(blueprint)
            except Exception as error:  # why so wide: one bad model must never end the others
                if not isinstance(error, RuntimeFault | OSError | UnicodeDecodeError):
                    logger.exception("loading model '%s' failed", name)
                text = status_text(error)
            if self._attempts.over:
                logger.info("the load of '%s' version %d is given up", name, version)
                break
            logger.error("failed to load '%s' version %d: %s", name, version, text)
        return version, text, None

    def _built(self, blueprint: Blueprint) -> ModelVersion:
        try:
            return self._build(blueprint)
        except Exception:
            blueprint.loaded.close()
            raise

    def _can_update(self, record: ModelRecord, version: int, plan: ModelPlan) -> bool:
        held = record.versions[version]
        return held.model is not None and (_same_groups(held, plan) or can_resize(held.model, plan))

    async def _update_version(
        self, record: ModelRecord, version: int, plan: ModelPlan
    ) -> tuple[int, str, ModelVersion | None]:
        """Change a serving version's instances to what ``plan`` says; requests notice nothing."""
        held = record.versions[version]
        if held.model is not None and not _same_groups(held, plan):
            try:
                await resize(held.model, plan, self._rules, self._threads, self._attempts)
            except Exception as error:  # why so wide: as for a load
                if not isinstance(error, RuntimeFault | OSError):
                    logger.exception("updating model '%s' failed", record.name)
                return version, status_text(error), None
        held.plan = plan
        return version, "", None

    def _give_up(
        self,
        record: ModelRecord,
        coming: Mapping[int, VersionState],
        models: Mapping[int, ModelVersion],
        failures: Mapping[int, str],
    ) -> None:
        """Discard what was loaded. Raises LoadFailed with every cause."""
        for version, state in coming.items():
            state.state, state.reason = ModelState.UNAVAILABLE, failures.get(version, "")
            if version in models:
                state.model = models[version]
                self._retire(record.name, version, state)
            else:
                state.plan = None
        self._refresh(record)
        if not self._attempts.over:
            logger.info("failed to load '%s'", record.name)
        causes = []
        for version, text in sorted(failures.items()):
            state = coming.get(version, record.versions[version])
            causes.append(f"version {version} is at {state.state} state: {text};")
        raise LoadFailed("".join(causes))

    def _swap(
        self,
        record: ModelRecord,
        coming: Mapping[int, VersionState],
        models: Mapping[int, ModelVersion],
    ) -> None:
        for version, state in coming.items():
            old = record.versions.get(version)
            state.model, state.state = models[version], ModelState.READY
            record.versions[version] = state
            if old is not None and old is not state and _serves(old):
                self._retire(record.name, version, old)

    # --- unloading ---------------------------------------------------------------------------

    def unload(self, name: str) -> None:
        """Serve no version any more; what runs ends behind our back."""
        record = self.records.get(name)
        if record is None:
            return
        for version, held in record.versions.items():
            if _serves(held):
                self._retire(name, version, held)
        self._refresh(record)

    def _retire(self, name: str, version: int, state: VersionState) -> None:
        state.state, state.reason = ModelState.UNLOADING, ""
        self._spawn(self._drain(name, version, state))

    async def _drain(self, name: str, version: int, state: VersionState) -> None:
        model, state.model = state.model, None
        try:
            if model is not None:
                await model.drain()
        except Exception:
            logger.exception("unloading model '%s' version %d failed", name, version)
        finally:
            del model
            state.state, state.reason, state.plan = ModelState.UNAVAILABLE, UNLOADED, None
            logger.info("successfully unloaded '%s' version %d", name, version)
        await asyncio.get_running_loop().run_in_executor(None, heap.trim)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # --- looking -----------------------------------------------------------------------------

    def _refresh(self, record: ModelRecord) -> None:
        """Rebuild the data plane's entries of one model."""
        for key in [key for key in self.ready if key[0] == record.name]:
            del self.ready[key]
        live = record.ready
        for version, model in live.items():
            self.ready[record.name, str(version)] = model
        if live:
            self.ready[record.name, ""] = live[max(live)]
        self._changed()

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()

    @property
    def all_ready(self) -> bool:
        """Every model that was to be served has versions, all READY or unloaded on purpose."""
        return all(
            record.versions
            and all(
                held.state is ModelState.READY or held.reason == UNLOADED
                for held in record.versions.values()
            )
            for record in self.records.values()
        )

    @property
    def versions(self) -> list[ModelVersion]:
        """The READY versions, by name and number."""
        pairs = sorted((key for key in self.ready if key[1]), key=lambda key: (key[0], int(key[1])))
        return [self.ready[key] for key in pairs]

    def give_up_loads(self) -> None:
        """End what is being loaded; nothing is loaded any more."""
        self._attempts.give_up()

    @property
    def stopping(self) -> bool:
        return self._attempts.over

    @property
    def still_loads(self) -> bool:
        """Whether a thread is at a load that cannot be ended."""
        return self._attempts.under_way

    async def close(self, timeout_s: float, hurried: asyncio.Event) -> bool:
        """As ``Manager.close``."""
        self.give_up_loads()
        models = self.versions
        for key in [key for key, model in self.ready.items() if not model.scheduler.goes_on]:
            del self.ready[key]
        self._changed()
        drains = [asyncio.ensure_future(model.wind_down()) for model in models]
        finished = True
        if drains or self._background:
            work = [*drains, *self._background]
            late = await wait_unless_hurried(work, timeout_s, hurried)
            finished = not late
            for task in late:
                task.cancel()
            await asyncio.gather(
                *(
                    model.close(interrupt=drain in late)
                    for model, drain in zip(models, drains, strict=True)
                )
            )
        self.ready.clear()
        self._changed()
        self._threads.shutdown(wait=False, cancel_futures=True)
        return finished


def _serves(state: VersionState) -> bool:
    return state.state is ModelState.READY and state.model is not None


def _same_groups(held: VersionState, plan: ModelPlan) -> bool:
    return held.plan is not None and (
        list(held.plan.config.instance_group) == list(plan.config.instance_group)
    )


def _load_and_trim(
    plan: ModelPlan, version: int, rules: LoadingRules, attempt: Attempt
) -> Blueprint:
    """``load_version``; what libraries only needed while they loaded is given back."""
    try:
        return load_version(plan, version, rules, attempt)
    finally:
        heap.trim()

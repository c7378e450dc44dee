"""The models that run in this front end: loaded beside the core's, counted for it, and let go.

Until one is loaded, and where it cannot be, its requests go to the core.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from worker_runtime import heap
from worker_runtime.backends.attempt import Attempt
from worker_runtime.core.loading import LoadingRules, ModelPlan, load_version
from worker_runtime.core.model import Blueprint, ModelVersion
from worker_runtime.core.scheduling.base import SchedulingContext
from worker_runtime.errors import LoadFailed, RuntimeFault
from worker_runtime.frontends.counts import taken
from worker_runtime.frontends.messages import Copied, CopyForm, CopyRules, State
from worker_runtime.frontends.remote import RemoteModel
from worker_runtime.repository.fingerprint import Fingerprint, fingerprint
from worker_runtime.repository.layout import ModelDirectory
from worker_runtime.types.code import AllowedCode
from worker_runtime.types.instances import Machine
from worker_runtime.types.triton_messages import model_config_pb2

logger = logging.getLogger(__name__)
_TELL_S = 1.0  # between two reports; what a front end that is killed has not reported is lost


class Copies:
    """``say`` sends a message to the core."""

    def __init__(self, rules: CopyRules, say: Callable[[Copied], None]) -> None:
        self._rules = LoadingRules(
            Machine(rules.cores),
            auto_complete=False,  # the core has done it
            backend_settings=rules.backend_settings,
            code=AllowedCode(rules.allow_code),
        )
        self._context = SchedulingContext(
            metrics=rules.metrics,
            unload_timeout_s=rules.unload_timeout_s,
            longest_wait_ns=rules.longest_wait_ns,
        )
        self._say = say
        self._wanted: dict[int, CopyForm] = {}
        self._serving: dict[int, RemoteModel] = {}
        self._held: list[tuple[int, ModelVersion]] = []  # which serve, or end what they have
        self._loads = ThreadPoolExecutor(1, thread_name_prefix="load")
        self._loading_tasks: set[asyncio.Task[None]] = set()
        self._drains: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._told: dict[int, int] = {}
        self._loading = 0

    def follow(self, state: State, models: Mapping[int, RemoteModel]) -> None:
        """Run what the core wants to run here, and nothing else."""
        before, forms = self._wanted, {form.number: form for form in state.copies}
        self._want({number: forms.get(number) or before[number] for number in state.runs}, models)

    def tell(self) -> None:
        """Report to the core what runs here, and what was counted since the last time."""
        counts = [taken(number, model.statistics) for number, model in self._held]
        self._told = self._waiting()
        found = [one for one in counts if one is not None]
        self._say(Copied(self._told, found, loading=bool(self._loading)))

    async def close(self, grace_s: float) -> None:
        """Let what runs end within ``grace_s`` seconds; what is being loaded is given up."""
        self._want({}, {})
        if self._drains:
            await asyncio.wait(set(self._drains), timeout=grace_s)
        self._loads.shutdown(wait=False, cancel_futures=True)
        if self._timer is not None:
            self._timer.cancel()

    @property
    def still_loads(self) -> bool:
        """Whether a thread is at a load, which cannot be ended."""
        return bool(self._loading)

    # --- inside ----------------------------------------------------------------------------------

    def _want(self, wanted: dict[int, CopyForm], models: Mapping[int, RemoteModel]) -> None:
        before, self._wanted = self._wanted, wanted
        for number, held in before.items():
            if wanted.get(number) is not held:
                self._let_go(number)
        for number, form in wanted.items():
            if before.get(number) is not form:
                self._loading += 1
                self._run(self._loading_tasks, self._bring_up(form, models[number]))

    def _run(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _bring_up(self, form: CopyForm, remote: RemoteModel) -> None:
        try:
            model = await self._load(form)
        finally:
            self._loading -= 1
        if model is not None:
            self._held.append((form.number, model))
            if self._wanted.get(form.number) is form:
                remote.copy = model
                self._serving[form.number] = remote
                logger.info("model '%s' version %d runs in this front end", form.name, form.version)
            else:
                self._run(self._drains, self._drain(form.number, model))
        self.tell()
        if self._timer is None:
            self._timer = self._loop.call_later(_TELL_S, self._tick)

    async def _load(self, form: CopyForm) -> ModelVersion | None:
        """None, and a line in the log, where it cannot be."""
        try:
            load = partial(_loaded, form, self._rules)
            blueprint = await self._loop.run_in_executor(self._loads, load)
            return self._built(blueprint)
        except Exception as error:  # why so wide: the core serves it, whatever is wrong here
            if self._wanted.get(form.number) is form:
                logger.error(
                    "model '%s' version %d cannot run in this front end, its requests go to the "
                    "core: %s",
                    *(form.name, form.version, str(error) or type(error).__name__),
                    exc_info=None if isinstance(error, RuntimeFault | OSError) else error,
                )
            return None

    def _built(self, blueprint: Blueprint) -> ModelVersion:
        try:
            return ModelVersion(blueprint, self._loop, self._context)
        except Exception:
            blueprint.loaded.close()
            raise

    def _let_go(self, number: int) -> None:
        """Give its requests to the core from now on; what is here already ends here."""
        remote = self._serving.pop(number, None)
        if remote is not None:
            model, remote.copy = remote.copy, None
            self._run(self._drains, self._drain(number, model))

    async def _drain(self, number: int, model: ModelVersion) -> None:
        try:
            await model.drain()
        except Exception:
            logger.exception("unloading model '%s' version %d failed", model.name, model.version)
        finally:
            self.tell()  # why before: what it has counted; and behind: that it is gone
            self._held.remove((number, model))
            self.tell()
        await self._loop.run_in_executor(None, heap.trim)

    def _waiting(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, model in self._held:
            found[number] = found.get(number, 0) + model.scheduler.pending
        return found

    def _tick(self) -> None:
        self._timer = self._loop.call_later(_TELL_S, self._tick) if self._held else None
        counted = any(model.statistics.ends() for _, model in self._held)
        if counted or self._waiting() != self._told:
            self.tell()


def _loaded(form: CopyForm, rules: LoadingRules) -> Blueprint:
    """The version as the core has it; blocking. Raises LoadFailed, ConfigInvalid or OSError."""
    path = Path(form.path)
    config_path = Path(form.config_path) if form.config_path is not None else None
    directory = ModelDirectory(form.name, path, (form.version,), config_path)
    config = model_config_pb2.ModelConfig.FromString(form.config)
    plan = ModelPlan(directory, config, {}, max_batch_given=True)
    _check_unchanged(form, path, config_path)
    try:
        blueprint = load_version(plan, form.version, rules, Attempt())
    finally:
        heap.trim()
    try:
        _check_unchanged(form, path, config_path)
    except LoadFailed:
        blueprint.loaded.close()
        raise
    return blueprint


def _check_unchanged(form: CopyForm, path: Path, config_path: Path | None) -> None:
    """Raises LoadFailed where another model would be loaded than the one that the core has."""
    now = fingerprint(path, config_path)
    if Fingerprint(form.files, now.config).version_changed(now, form.version):
        raise LoadFailed(f"the files below '{path}' have changed since the core loaded them")

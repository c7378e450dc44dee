"""The life of models: load, swap, unload, index. One bad model never takes the others down."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker_runtime.core.loading import LoadingRules, load_version, read_plan
from worker_runtime.core.model import Blueprint, ModelVersion
from worker_runtime.errors import Internal, InvalidArgument, LoadFailed, RuntimeFault, Unavailable
from worker_runtime.repository.layout import ModelDirectory, scan
from worker_runtime.types.override import LoadOverride
from worker_runtime.types.states import UNLOADED, ModelState

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class VersionState:
    state: ModelState
    reason: str = ""
    model: ModelVersion | None = None


@dataclass(slots=True)
class ModelRecord:
    """``versions`` may be empty: a model whose configuration is bad has only a ``reason``."""

    name: str
    versions: dict[int, VersionState] = field(default_factory=dict)
    reason: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Manager:
    """Everything here runs in the event loop; loading itself happens in a few threads."""

    def __init__(
        self,
        repositories: Sequence[Path],
        rules: LoadingRules,
        *,
        explicit: bool,
        config_name: str = "",
        load_threads: int = 4,
    ) -> None:
        self._repositories = repositories
        self._rules = rules
        self._explicit = explicit
        self._config_name = config_name
        self._threads = ThreadPoolExecutor(load_threads, thread_name_prefix="load")
        self.records: dict[str, ModelRecord] = {}
        # The data plane's view: (name, "") is the highest READY version, (name, "3") that one.
        self.ready: dict[tuple[str, str], ModelVersion] = {}

    def directories(self) -> list[ModelDirectory]:
        """What lies in the repositories now. Raises OSError."""
        return [item for root in self._repositories for item in scan(root, self._config_name)]

    async def start(self, names: Sequence[str] | None) -> None:
        """Load ``names`` (None: every model); failures are recorded, not raised."""
        found: dict[str, list[ModelDirectory]] = {}
        for item in self.directories():
            found.setdefault(item.name, []).append(item)
        chosen = list(found) if names is None else list(dict.fromkeys(names))
        for name in chosen:
            self.records[name] = ModelRecord(name)
        await asyncio.gather(*(self._start_one(name, found.get(name, [])) for name in chosen))

    async def _start_one(self, name: str, directories: list[ModelDirectory]) -> None:
        record = self.records[name]
        if len(directories) == 1:
            try:
                await self._load(record, directories[0], None)
            except RuntimeFault as error:
                logger.error("failed to load model '%s': %s", name, error)
        elif directories:
            record.reason = f"model '{name}' appears in two or more repositories"
        else:
            record.reason = f"failed to load '{name}', failed to poll from model repository"
        if record.reason:
            logger.error("%s", record.reason)

    async def load(self, name: str, override: LoadOverride | None = None) -> None:
        """Load or reload through the API. The old version serves until the new one is complete."""
        self._check_explicit("load")
        if not name.strip() or "/" in name or ".." in name:
            raise InvalidArgument(f"'{name}' is not a model name")
        record = self.records.setdefault(name, ModelRecord(name))
        async with record.lock:
            found = [item for item in self.directories() if item.name == name]
            if not found:
                if not record.versions:
                    self.records.pop(name, None)
                raise Internal(f"failed to load '{name}', failed to poll from model repository")
            if len(found) > 1:
                raise InvalidArgument(f"model '{name}' appears in two or more repositories")
            await self._load(record, found[0], override)

    async def unload(self, name: str, *, unload_dependents: bool = False) -> None:
        """Stop serving; returns once the model is no longer READY. Unknown models are no error."""
        self._check_explicit("unload")
        del unload_dependents  # nothing depends on anything yet
        record = self.records.get(name)
        if record is None:
            return
        async with record.lock:
            await self._retire(record, list(record.versions))

    async def _load(
        self, record: ModelRecord, directory: ModelDirectory, override: LoadOverride | None
    ) -> None:
        for warning in directory.warnings:
            logger.warning("model '%s': %s", record.name, warning)
        run = asyncio.get_running_loop().run_in_executor
        try:
            plan = await run(self._threads, read_plan, directory, self._rules, override)
        except Exception as error:  # why so wide: one bad model must never end the others
            if not isinstance(error, RuntimeFault | OSError | UnicodeDecodeError):
                logger.exception("reading the configuration of model '%s' failed", record.name)
            record.reason = _reason(error)
            raise LoadFailed(f"failed to load '{record.name}': {error}") from error
        record.reason = ""
        for version in plan.versions:
            held = record.versions.get(version)
            if held is None or held.state is not ModelState.READY:
                record.versions[version] = VersionState(ModelState.LOADING)
        results = await asyncio.gather(
            *(run(self._threads, load_version, plan, v, self._rules) for v in plan.versions),
            return_exceptions=True,
        )
        await self._settle(record, plan.versions, results)

    async def _settle(
        self, record: ModelRecord, versions: Sequence[int], results: Sequence[Any]
    ) -> None:
        """Swap all new versions in, or, if any failed, none of them."""
        failures = {
            v: r for v, r in zip(versions, results, strict=True) if isinstance(r, BaseException)
        }
        if failures:
            for version, result in zip(versions, results, strict=True):
                if isinstance(result, Blueprint):
                    result.loaded.close()
                held = record.versions[version]
                if held.state is not ModelState.READY:
                    reason = failures.get(version, "another version of the model failed to load")
                    record.versions[version] = VersionState(ModelState.UNAVAILABLE, _reason(reason))
            causes = "".join(
                f"version {v} is at UNAVAILABLE state: {_reason(error)};"
                for v, error in failures.items()
            )
            raise LoadFailed(f"load failed for model '{record.name}': {causes}")
        loop = asyncio.get_running_loop()
        old = {v: s.model for v, s in record.versions.items() if s.model is not None}
        gone = [version for version in record.versions if version not in versions]
        for version, blueprint in zip(versions, results, strict=True):
            model = ModelVersion(blueprint, loop)
            record.versions[version] = VersionState(ModelState.READY, model=model)
        self._refresh(record)
        for version in versions:
            if version in old:
                self._drain_later(old[version])
        await self._retire(record, gone)
        logger.info("model '%s' is READY, versions %s", record.name, list(versions))

    async def _retire(self, record: ModelRecord, versions: Sequence[int]) -> None:
        draining = []
        for version in versions:
            held = record.versions[version]
            if held.model is not None:
                draining.append((version, held.model))
                record.versions[version] = VersionState(ModelState.UNLOADING)
            elif held.state is not ModelState.UNLOADING:
                record.versions[version] = VersionState(ModelState.UNAVAILABLE, UNLOADED)
        self._refresh(record)
        for version, model in draining:
            self._drain_later(model, lambda version=version: self._unloaded(record, version))

    def _unloaded(self, record: ModelRecord, version: int) -> None:
        held = record.versions.get(version)
        if held is not None and held.state is ModelState.UNLOADING:
            record.versions[version] = VersionState(ModelState.UNAVAILABLE, UNLOADED)

    def _drain_later(self, model: ModelVersion, done: Any = None) -> None:
        task = asyncio.get_running_loop().create_task(model.drain())
        _BACKGROUND.add(task)
        task.add_done_callback(_BACKGROUND.discard)
        if done is not None:
            task.add_done_callback(lambda _: done())

    def _refresh(self, record: ModelRecord) -> None:
        """Rebuild the data plane's entries of one model."""
        for key in [key for key in self.ready if key[0] == record.name]:
            del self.ready[key]
        live = {v: s.model for v, s in sorted(record.versions.items()) if s.model is not None}
        for version, model in live.items():
            self.ready[record.name, str(version)] = model
        if live:
            self.ready[record.name, ""] = live[max(live)]

    def _check_explicit(self, verb: str) -> None:
        if not self._explicit:
            raise Unavailable(
                f"explicit model load / unload is not allowed if polling is enabled: {verb} needs "
                "--model-control-mode=explicit"
            )

    @property
    def all_ready(self) -> bool:
        """Every known version is READY, or was unloaded on purpose."""
        return all(
            not record.reason
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

    async def close(self, timeout_s: float) -> bool:
        """Drain every version for at most ``timeout_s`` seconds; False when time ran out."""
        models = self.versions
        self.ready.clear()
        drains = [asyncio.ensure_future(model.drain()) for model in models]
        finished = True
        if drains:
            _, late = await asyncio.wait(drains, timeout=timeout_s)
            finished = not late
            for task in late:
                task.cancel()
            for model in models:
                model.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        return finished


_BACKGROUND: set[asyncio.Task[None]] = set()


def _reason(error: object) -> str:
    return str(error) or type(error).__name__

"""Which models depend on which, and how those that are to be unloaded wait for their callers.

``configs`` holds the configurations of the known models by name.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from worker_runtime.core.lifecycle.records import ModelRecord
from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.ensembles import check_composition, composing, unmet
from worker_runtime.types.repository import name_of

Configs = Mapping[str, Any]


def dependants(name: str, configs: Configs) -> set[str]:
    """The ensembles with a step that is ``name``."""
    return {other for other, config in configs.items() if name in composing(config)}


def _concerned(name: str, configs: Configs) -> set[str]:
    return {other for other, config in configs.items() if name in map(name_of, composing(config))}


def downstream(names: Iterable[str], *graphs: Configs) -> set[str]:
    """Every ensemble that some of ``names`` is part of, directly or through another one.

    Or might be: with namespaces a model that comes or goes changes whom ensembles of its
    namesakes call. ``graphs``: as known and, where that differs, as served.
    """
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = name_of(todo.pop())
        for other in set().union(*(_concerned(name, configs) for configs in graphs)) - found:
            found.add(other)
            todo.append(other)
    return found


def with_orphans(name: str, configs: Configs, explicit: Collection[str]) -> list[str]:
    """``name`` and what nobody needs without it: its parts that were loaded only as parts."""
    left = dict(configs)
    gone: list[str] = []
    todo = [name]
    while todo:
        current = todo.pop(0)
        config = left.pop(current, None)
        if config is None:
            continue
        gone.append(current)
        todo += [
            part
            for part in composing(config)
            if part in left and part not in explicit and not dependants(part, left)
        ]
    return gone


def next_round(pending: Collection[str], configs: Configs) -> set[str]:
    """Those of ``pending`` that wait for none of the others; all of them when they are a ring."""
    free = {
        name for name in pending if not (composing(configs[name]).keys() & set(pending) - {name})
    }
    return free or set(pending)


class PendingUnloads:
    """What one change unloads: each model stays until no ensemble calls it any more.

    ``records`` tells who calls whom now, ``unload`` ends a model. What is in here still answers,
    but nothing new is to be built upon it.
    """

    def __init__(
        self,
        names: Iterable[str],
        records: Mapping[str, ModelRecord],
        unload: Callable[[str], None],
    ) -> None:
        self._pending = set(names)
        self._outdated: set[str] = set()
        self._records = records
        self._unload = unload

    def mark_outdated(self, name: str) -> None:
        """An ensemble that could not be reloaded: it stays only if it still fits what it calls."""
        self._outdated.add(name)

    def settle(self) -> None:
        """Unload what nobody calls, callers before those whom they called."""
        while True:
            broken = {name for name in self._outdated - self._pending if not self._still_fits(name)}
            self._pending |= broken
            idle = self._pending - self._called()
            if not broken and not idle:
                return
            self._end(idle)

    def finish(self) -> None:
        """Unload the rest, whoever calls it."""
        self.settle()
        self._end(set(self._pending))

    def versions(self, name: str) -> list[int]:
        """The READY versions of a model that stays; none of one that is to be unloaded."""
        record = self._records.get(name)
        return list(record.ready) if record is not None and name not in self._pending else []

    def _end(self, names: set[str]) -> None:
        self._pending -= names
        self._outdated -= names
        for name in sorted(names):
            self._unload(name)

    def _called(self) -> set[str]:
        return {
            part
            for record in self._records.values()
            for model in record.ready.values()
            for part in composing(model.config)
        }

    def _still_fits(self, name: str) -> bool:
        """Whether an ensemble can go on as it is: those whom it calls stay, and still fit."""
        record = self._records.get(name)
        ready = record.ready.values() if record is not None else ()
        return bool(ready) and all(self._fits(model.config) for model in ready)

    def _fits(self, config: Any) -> bool:
        """Whether a complete configuration agrees with the models that it calls now."""
        parts = composing(config)
        versions = {part: self.versions(part) for part in parts}
        if unmet(config, versions):
            return False
        highest = {part: self._records[part].ready[max(versions[part])].config for part in parts}
        try:
            decoupled = check_composition(config, highest)
        except ConfigInvalid:
            return False
        return decoupled is config.model_transaction_policy.decoupled

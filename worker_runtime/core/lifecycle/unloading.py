"""Models that are to be unloaded: each stays until no ensemble calls it any more."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from worker_runtime.core.lifecycle.records import ModelRecord
from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository import ensembles


class PendingUnloads:
    """Of one change. ``records`` tells who calls whom now, ``unload`` ends a model.

    What is in here still answers, but nothing new is to be built upon it.
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
            for part in ensembles.composing(model.config)
        }

    def _still_fits(self, name: str) -> bool:
        """Whether an ensemble can go on as it is: those whom it calls stay, and still fit."""
        record = self._records.get(name)
        ready = record.ready.values() if record is not None else ()
        return bool(ready) and all(self._fits(model.config) for model in ready)

    def _fits(self, config: Any) -> bool:
        """Whether a complete configuration agrees with the models that it calls now."""
        parts = ensembles.composing(config)
        versions = {part: self.versions(part) for part in parts}
        if ensembles.unmet(config, versions):
            return False
        highest = {part: self._records[part].ready[max(versions[part])].config for part in parts}
        try:
            decoupled = ensembles.check_composition(config, highest)
        except ConfigInvalid:
            return False
        return decoupled is config.model_transaction_policy.decoupled

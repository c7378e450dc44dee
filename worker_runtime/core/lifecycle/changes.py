"""What a load has to do, given what serves now and what shall serve: pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from worker_runtime.repository.ensembles import is_ensemble

# A difference in these alone needs no new model.
_LIVE_FIELDS = ("instance_group", "version_policy")


class Change(Struct, frozen=True):
    """Versions, ascending: to ``load`` anew, to ``update`` in place, to ``drop`` afterwards."""

    load: tuple[int, ...]
    update: tuple[int, ...]
    drop: tuple[int, ...]


def plan_change(
    serving: Mapping[int, Any],
    wanted: Iterable[int],
    config: Any,
    touched: Callable[[int], bool],
) -> Change:
    """``serving``: the configurations, as read, of the READY versions; ``config`` the new one.

    ``touched`` tells whether files of a version have changed since it was loaded.
    """
    load: list[int] = []
    update: list[int] = []
    wanted = sorted(set(wanted))
    for version in wanted:
        old = serving.get(version)
        keep = (
            old is not None
            and not is_ensemble(config)
            and not touched(version)
            and same_but_live_fields(old, config)
        )
        (update if keep else load).append(version)
    drop = sorted(set(serving) - set(wanted))
    return Change(tuple(load), tuple(update), tuple(drop))


def same_but_live_fields(old: Any, new: Any) -> bool:
    """The configurations differ at most in what a serving model can take over."""
    return bool(_without_live_fields(old) == _without_live_fields(new))


def _without_live_fields(config: Any) -> Any:
    copy = type(config)()
    copy.CopyFrom(config)
    for name in _LIVE_FIELDS:
        copy.ClearField(name)
    return copy

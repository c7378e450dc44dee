"""What a load has to do, given what serves now and what shall serve; and updates in place."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

from worker_runtime.core.lifecycle.attempts import Attempts
from worker_runtime.core.loading import (
    LoadingRules,
    ModelPlan,
    check_instances,
    load_instances,
)
from worker_runtime.core.model import ModelVersion
from worker_runtime.repository.ensembles import is_ensemble
from worker_runtime.types.instances import places_of

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


class Match(NamedTuple):
    """``kept``: for each new place the number of the old one whose instance stays, or None."""

    kept: tuple[int | None, ...]

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of the places that are to be filled."""
        return tuple(number for number, old in enumerate(self.kept) if old is None)


def match(old: Any, new: Any) -> Match:
    """Compare the instance groups of two configurations, place by place.

    A place is the same when device and group are, whatever the group's name and count.
    """
    free: dict[tuple[int | None, bytes], list[int]] = {}
    for number, kind in enumerate(_kinds(old)):
        free.setdefault(kind, []).append(number)
    return Match(tuple(free[kind].pop(0) if free.get(kind) else None for kind in _kinds(new)))


def can_resize(model: ModelVersion, plan: ModelPlan) -> bool:
    """Instances that get no requests are not exchanged."""
    return model.scheduler.resizable and not any(
        group.passive for config in (model.config, plan.config) for group in config.instance_group
    )


async def resize(
    model: ModelVersion,
    plan: ModelPlan,
    rules: LoadingRules,
    threads: Executor,
    attempts: Attempts,
) -> None:
    """Go on serving, with the instances that ``plan`` wants: those that match stay.

    Raises ConfigInvalid, LoadFailed or ShuttingDown, with nothing changed.
    """
    check_instances(plan, rules)
    run = asyncio.get_running_loop().run_in_executor
    found = match(model.config, plan.config)
    added: Sequence[Any] = ()
    if found.missing:
        load = partial(load_instances, plan, model.config, model.version, rules, found.missing)
        added = await run(threads, attempts.run, load)
    old, new = model.loaded.instances, iter(added)
    # why in the order of places: the next look at them takes an instance by its place.
    instances = [next(new) if number is None else old[number] for number in found.kept]
    left = await model.resize(plan.config.instance_group, instances)
    for instance in left:
        close = getattr(instance, "close", None)
        if close is not None:
            await run(threads, close)


def _kinds(config: Any) -> list[tuple[int | None, bytes]]:
    kinds: list[tuple[int | None, bytes]] = []
    for group in config.instance_group:
        alike = type(group)()
        alike.CopyFrom(group)
        alike.name, alike.count = "", 1
        only = type(config)()
        only.instance_group.add().CopyFrom(alike)
        key = alike.SerializeToString(deterministic=True)
        devices = [place.device for place in places_of(only)]
        kinds += [(device, key) for device in devices for _ in range(group.count)]
    return kinds

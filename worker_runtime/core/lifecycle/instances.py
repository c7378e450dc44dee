"""Other instances for a model that goes on serving: those that match stay."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

from worker_runtime.core.lifecycle.attempts import Attempts
from worker_runtime.core.loading import (
    LoadingRules,
    ModelPlan,
    check_instances,
    load_instances,
)
from worker_runtime.core.model import ModelVersion
from worker_runtime.types.instances import places_of


class Match(NamedTuple):
    """``stay``: numbers of old places; ``new``: numbers of the places to be filled."""

    stay: tuple[int, ...]
    new: tuple[int, ...]


def match(old: Any, new: Any) -> Match:
    """Compare the instance groups of two configurations, place by place.

    A place is the same when device and group are, whatever the group's name and count.
    """
    free: dict[tuple[int | None, bytes], list[int]] = {}
    for number, kind in enumerate(_kinds(old)):
        free.setdefault(kind, []).append(number)
    stay: list[int] = []
    missing: list[int] = []
    for number, kind in enumerate(_kinds(new)):
        if free.get(kind):
            stay.append(free[kind].pop(0))
        else:
            missing.append(number)
    return Match(tuple(stay), tuple(missing))


def can_resize(model: ModelVersion, plan: ModelPlan) -> bool:
    """Instances that the rate limiter weighs, or that get no requests, are not exchanged."""
    return model.scheduler.resizable and not any(
        group.passive or group.HasField("rate_limiter")
        for config in (model.config, plan.config)
        for group in config.instance_group
    )


async def resize(
    model: ModelVersion,
    plan: ModelPlan,
    rules: LoadingRules,
    threads: Executor,
    attempts: Attempts,
) -> None:
    """Serve with the instances that ``plan`` wants.

    Raises ConfigInvalid, LoadFailed or ShuttingDown, with nothing changed.
    """
    check_instances(plan, rules)
    run = asyncio.get_running_loop().run_in_executor
    found = match(model.config, plan.config)
    added: Sequence[Any] = ()
    if found.new:
        load = partial(load_instances, plan, model.config, model.version, rules, found.new)
        added = await run(threads, attempts.run, load)
    staying = [model.loaded.instances[number] for number in found.stay]
    left = await model.resize(plan.config.instance_group, [*staying, *added])
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

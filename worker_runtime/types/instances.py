"""The instances of a model, as its instance groups order them, and what they can be placed on."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

_KIND_GPU = 1


class Machine(Struct, frozen=True):
    cores: int
    gpus: int = 0


class ResourceNeed(Struct, frozen=True):
    """How many units one execution holds; ``shared``: of the whole server, not of the device."""

    name: str
    count: int
    shared: bool = False


class InstancePlace(Struct, frozen=True):
    """``device`` None: the CPU. A ``passive`` instance is loaded and gets no requests.

    ``priority`` weighs the instance for the rate limiter: 2 gets half the turns of 1.
    """

    name: str
    device: int | None = None
    passive: bool = False
    priority: int = 1
    needs: tuple[ResourceNeed, ...] = ()


def places_of(config: Any) -> tuple[InstancePlace, ...]:
    """Every instance of a normalised ``inference.ModelConfig``: by group, then by device.

    The instances of one group on several devices share their names, as in Triton.
    """
    places: list[InstancePlace] = []
    for group in config.instance_group:
        limiter = group.rate_limiter
        needs = tuple(
            ResourceNeed(item.name, item.count, getattr(item, "global"))
            for item in limiter.resources
        )
        devices: list[int | None] = list(group.gpus) if group.kind == _KIND_GPU else [None]
        for device in devices:
            places.extend(
                InstancePlace(
                    f"{group.name}_{number}",
                    device,
                    group.passive,
                    max(1, limiter.priority),
                    needs,
                )
                for number in range(group.count)
            )
    return tuple(places)


def active(places: Sequence[InstancePlace], instances: Sequence[Any]) -> list[Any]:
    """The instances that take requests: not the passive ones, where places are known."""
    if len(places) != len(instances):
        return list(instances)
    pairs = zip(places, instances, strict=True)
    return [instance for place, instance in pairs if not place.passive]

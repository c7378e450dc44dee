"""Which instance may execute next, over all models: resources and weighted turns. Pure.

An instance that has work is staged. The staged one with the fewest weighted executions goes first,
once every unit that it needs is free; while it waits for units nobody overtakes it.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.instances import InstancePlace, ResourceNeed

EVERYWHERE = -1  # the device of limits for each device, and of resources of the whole server
_CPU = -2
Unit = tuple[str, int]  # name, device


class Member:
    """One instance under the limiter. ``granted`` is called when its turn has come."""

    __slots__ = ("executions", "granted", "needs", "place", "staged")

    def __init__(self, place: InstancePlace, granted: Callable[["Member"], None]) -> None:
        self.place = place
        self.granted = granted
        self.executions = 0
        self.staged = False
        self.needs: dict[Unit, int] = {}

    @property
    def weight(self) -> int:
        return self.executions * self.place.priority


class RateLimiter:
    """``limits`` are ``--rate-limit-resource`` counts by name and device (EVERYWHERE: each one).

    A resource without a limit has as many units as its greediest instance needs.
    """

    def __init__(self, limits: Mapping[Unit, int] | None = None) -> None:
        self._limits = dict(limits or {})
        self._members: list[Member] = []
        self._total: dict[Unit, int] = {}
        self._used: dict[Unit, int] = {}
        self._staged: list[tuple[int, int, Member]] = []
        self._numbers = count()
        self._offering = False

    def check(self, places: Sequence[InstancePlace]) -> None:
        """Whether a model with these instances could ever run. Raises InvalidArgument."""
        places = [*(member.place for member in self._members), *places]
        _check_kinds([need for place in places for need in place.needs])
        total = self._units_of(places)
        for (name, device), needed in _most(places).items():
            if total[name, device] < needed:
                raise InvalidArgument(
                    f'Resource count for "{name}" is limited to {total[name, device]} which will '
                    "prevent scheduling of one or more model instances, the minimum required "
                    f"count is {needed}"
                )

    def join(
        self, places: Sequence[InstancePlace], granted: Callable[[Member], None]
    ) -> list[Member]:
        """Take the instances of a model in, which has been checked."""
        joined = [Member(place, granted) for place in places]
        for member in joined:
            member.needs = _units(member.place)
        self._members += joined
        self._total = self._units_of([member.place for member in self._members])
        return joined

    def leave(self, members: Sequence[Member]) -> None:
        """The model is gone; what its instances still hold must have been released."""
        gone = set(map(id, members))
        self._members = [member for member in self._members if id(member) not in gone]
        self._staged = [item for item in self._staged if id(item[2]) not in gone]
        heapq.heapify(self._staged)
        self._total = self._units_of([member.place for member in self._members])
        self._offer()

    def stage(self, member: Member) -> None:
        """The instance has work. Its ``granted`` may be called before this returns."""
        if not member.staged:
            member.staged = True
            heapq.heappush(self._staged, (member.weight, next(self._numbers), member))
            self._offer()

    def release(self, member: Member) -> None:
        """An execution is over: its units are free."""
        for unit, needed in member.needs.items():
            self._used[unit] -= needed
        self._offer()

    def give_back(self, member: Member) -> None:
        """A turn that was not needed after all."""
        member.executions -= 1
        self.release(member)

    def _offer(self) -> None:
        if self._offering:  # a grant staged or released something: the loop below sees it
            return
        self._offering = True
        try:
            while self._staged and self._fits(self._staged[0][2]):
                member = heapq.heappop(self._staged)[2]
                member.staged = False
                member.executions += 1
                for unit, needed in member.needs.items():
                    self._used[unit] = self._used.get(unit, 0) + needed
                member.granted(member)
        finally:
            self._offering = False

    def _fits(self, member: Member) -> bool:
        return all(
            self._used.get(unit, 0) + needed <= self._total.get(unit, 0)
            for unit, needed in member.needs.items()
        )

    def _units_of(self, places: Sequence[InstancePlace]) -> dict[Unit, int]:
        """The units there are of everything that these instances need."""
        limits = self._limits
        named = {name for name, _ in limits}
        return {
            (name, device): limits.get((name, device), limits.get((name, EVERYWHERE), 0))
            if name in named
            else needed
            for (name, device), needed in _most(places).items()
        }


def _most(places: Sequence[InstancePlace]) -> dict[Unit, int]:
    """What the greediest instance needs of each unit."""
    most: dict[Unit, int] = {}
    for place in places:
        for unit, needed in _units(place).items():
            most[unit] = max(most.get(unit, 0), needed)
    return most


def _units(place: InstancePlace) -> dict[Unit, int]:
    device = _CPU if place.device is None else place.device
    return {(need.name, EVERYWHERE if need.shared else device): need.count for need in place.needs}


def _check_kinds(needs: Sequence[ResourceNeed]) -> None:
    shared = {need.name for need in needs if need.shared}
    for need in needs:
        if not need.shared and need.name in shared:
            raise InvalidArgument(
                f'Resource "{need.name}" is present as both global and device-specific resource '
                "in the model configuration."
            )

"""Pure: which part of the clients is whose, so that a new split moves no more of them than it must.

A client's hash is a number from 0 to 99, its slot. Shares alone do not say whose a slot is: cut in
the order of names, a third deployment that shrinks would move clients between the other two.
"""

from collections.abc import Mapping, Sequence
from typing import Final

SLOTS: Final = 100
Runs = Sequence[tuple[str, int]]  # neighbouring slots of one deployment, in order: name, how many


def slots_shared(before: Runs, traffic: Mapping[str, int]) -> list[tuple[str, int]]:
    """Runs that give each deployment its percent of ``traffic``, as near to ``before`` as can be.

    Who keeps or gains a share keeps all of its slots. What a deployment loses are its last ones,
    so that who came last leaves first when a split is taken back.
    """
    if not sum(traffic.values()):
        return []
    known = [name for name, count in before for _ in range(count)][:SLOTS]
    slots = [*known, *[""] * (SLOTS - len(known))]
    left = dict(traffic)
    for place, name in enumerate(slots):
        slots[place] = name if left.get(name, 0) else ""
        left[name] = left.get(name, 0) - bool(slots[place])
    free = iter([place for place, name in enumerate(slots) if not name])
    for name in sorted(traffic):
        for _ in range(left[name]):
            slots[next(free)] = name
    return _runs(slots)


def _runs(slots: Sequence[str]) -> list[tuple[str, int]]:
    runs: list[tuple[str, int]] = []
    for name in slots:
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return runs

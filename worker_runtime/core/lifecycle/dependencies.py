"""Which models depend on which: pure questions about ensembles and what they are made of.

``configs`` holds the configurations of the known models by name.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from worker_runtime.repository.ensembles import composing
from worker_runtime.types.identity import name_of

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

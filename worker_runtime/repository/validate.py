"""Check a complete configuration against Triton's rules; every finding says what was expected."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.ensembles import check_schedule
from worker_runtime.repository.locate import Place
from worker_runtime.types.tensor import element_count


def validate(config: Any, places: dict[str, Place], *, complete: bool = True) -> list[Problem]:
    """The findings, in the order of the file. ``complete``: tensors must be described fully."""
    findings = [*_top(config), *_tensors(config, complete=complete), *_batching(config)]
    findings += check_schedule(config)
    return [placed(problem, places) for problem in findings]


def placed(problem: Problem, places: dict[str, Place]) -> Problem:
    """The finding with the line of its field, or of the nearest enclosing one that is written."""
    path = problem.field
    while path:
        place = places.get(path)
        if place is not None:
            return _moved(problem, place.line, place.column)
        path = path.rpartition(".")[0] if "." in path else path.rpartition("[")[0]
    return problem


def _moved(problem: Problem, line: int, column: int) -> Problem:
    return Problem(
        problem.code,
        problem.message,
        problem.severity,
        problem.model,
        problem.detail,
        problem.hints,
        line,
        column,
        problem.field,
        problem.fix_label,
        problem.fix,
    )


def _error(field: str, message: str, *hints: str) -> Problem:
    return Problem("ConfigInvalid", message, field=field, hints=hints)


def _top(config: Any) -> Iterator[Problem]:
    if config.max_batch_size < 0:
        yield _error(
            "max_batch_size",
            f"max_batch_size is {config.max_batch_size}, expected 0 or more",
            "0 means that the model does not batch",
        )
    for key, value in config.parameters.items():
        if not key:
            yield _error("parameters", f"a parameter with value {value.string_value!r} has no key")


def _tensors(config: Any, *, complete: bool) -> Iterator[Problem]:
    for kind in ("input", "output"):
        tensors = getattr(config, kind)
        if complete and not tensors:
            yield _error(kind, f"model '{config.name}' must specify one or more {kind}s")
        seen: set[str] = set()
        for index, item in enumerate(tensors):
            path = f"{kind}[{index}]"
            if not item.name:
                yield _error(path, f"{kind} {index} of model '{config.name}' has no name")
            elif item.name in seen:
                yield _error(f"{path}.name", f"{kind} '{item.name}' is given twice")
            seen.add(item.name)
            yield from _tensor(config, item, path, complete=complete)


def _tensor(config: Any, item: Any, path: str, *, complete: bool) -> Iterator[Problem]:
    if complete and not item.data_type:
        yield _error(path, f"'{item.name}' must specify 'data_type'")
    if complete and not item.dims:
        yield _error(path, f"'{item.name}' must specify 'dims'")
    for dim in item.dims:
        if dim == 0 or dim < -1:
            yield _error(
                f"{path}.dims",
                f"'{item.name}' has dimension {dim}, expected an integer >= 1, or -1 for a "
                "variable size",
            )
    if item.HasField("reshape"):
        yield from _reshape(config, item, path)


def _reshape(config: Any, item: Any, path: str) -> Iterator[Problem]:
    dims, shape = tuple(item.dims), tuple(item.reshape.shape)
    if not shape and config.max_batch_size == 0 and element_count(dims) != 1:
        yield _error(f"{path}.reshape", f"'{item.name}' can not have an empty reshape")
    elif dims.count(-1) != shape.count(-1) or (
        -1 not in dims and element_count(dims) != element_count(shape)
    ):
        yield _error(
            f"{path}.reshape",
            f"'{item.name}' has different size for dims {list(dims)} and reshape {list(shape)}",
        )


def _batching(config: Any) -> Iterator[Problem]:
    if not config.HasField("dynamic_batching"):
        return
    batching = config.dynamic_batching
    for size in batching.preferred_batch_size:
        if not 1 <= size <= max(1, config.max_batch_size):
            yield _error(
                "dynamic_batching[0].preferred_batch_size",
                f"dynamic batching preferred size is {size}, expected 1 to "
                f"{config.max_batch_size} (max_batch_size)",
            )
    levels = batching.priority_levels
    if levels and not 1 <= batching.default_priority_level <= levels:
        yield _error(
            "dynamic_batching[0].default_priority_level",
            f"default priority level is {batching.default_priority_level}, expected 1 to {levels}",
        )
    if batching.preserve_ordering and levels > 1:
        yield _error(
            "dynamic_batching[0].preserve_ordering",
            "preserve_ordering can only be used with one priority level",
        )
    for level in batching.priority_queue_policy:
        if not 1 <= level <= levels:
            yield _error(
                "dynamic_batching[0].priority_queue_policy",
                f"priority_queue_policy names level {level}, expected 1 to {levels}",
            )

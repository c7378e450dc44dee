"""dynamic_batching: preferred sizes, priority levels, queue policies."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding

_FIELD = "dynamic_batching[0]"
_DELAY = 1  # ModelQueuePolicy.DELAY


def check_dynamic_batching(config: Any) -> Iterator[Problem]:
    if not config.HasField("dynamic_batching"):
        return
    batching = config.dynamic_batching
    yield from check_preferred(
        batching.preferred_batch_size,
        config,
        f"{_FIELD}.preferred_batch_size",
        "dynamic batching preferred size must be positive for",
        "dynamic batching preferred size must be <= max batch size for",
    )
    yield from _levels(config)
    if batching.preserve_ordering:
        yield from _ordering(config)


def check_preferred(
    sizes: Any, config: Any, field: str, too_small: str, too_large: str
) -> Iterator[Problem]:
    """Preferred batch sizes lie between 1 and max_batch_size."""
    for size in sizes:
        if size <= 0 or size > config.max_batch_size:
            yield finding(
                field,
                f"{too_small if size <= 0 else too_large} {config.name}",
                got=size,
                expected=f"1 to {config.max_batch_size} (max_batch_size)",
            )


def _levels(config: Any) -> Iterator[Problem]:
    batching = config.dynamic_batching
    levels = batching.priority_levels
    if not levels:
        return
    if not 1 <= batching.default_priority_level <= levels:
        yield finding(
            f"{_FIELD}.default_priority_level",
            f"default priority level must be in range [1, {levels}] for {config.name}",
            got=batching.default_priority_level,
            expected=f"1 to {levels} (priority_levels)",
        )
    for level in sorted(batching.priority_queue_policy):
        if not 1 <= level <= levels:
            yield finding(
                f"{_FIELD}.priority_queue_policy",
                f"priority queue policy must have priority level in range [1, {levels}] for "
                f"{config.name}",
                got=level,
                expected=f"1 to {levels} (priority_levels)",
            )


def _ordering(config: Any) -> Iterator[Problem]:
    batching = config.dynamic_batching
    if batching.priority_levels > 1:
        yield finding(
            f"{_FIELD}.preserve_ordering",
            "Only one priority level is allowed when 'preserve_ordering' is true for "
            f"{config.name}",
            got=batching.priority_levels,
            expected="priority_levels 0 or 1, or preserve_ordering: false",
        )
    policies = [(f"{_FIELD}.default_queue_policy", batching.default_queue_policy)]
    policies += [
        (f"{_FIELD}.priority_queue_policy", policy)
        for _, policy in sorted(batching.priority_queue_policy.items())
    ]
    for field, policy in policies:
        if policy.default_timeout_microseconds and policy.timeout_action == _DELAY:
            yield finding(
                field,
                "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is "
                f"true for {config.name}",
                got="DELAY",
                expected="timeout_action: REJECT, or preserve_ordering: false",
            )

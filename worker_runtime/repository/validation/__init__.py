"""Triton's rules about configurations, one room per subject; every text is Triton's own.

A finding carries that text as its message, the field and its place, and what was found and expected
as its detail. Findings come in the order in which Triton looks, so that the first one is what
Triton would have said; it stops there, people are told everything.
"""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.ensembles import check_schedule
from worker_runtime.repository.pbtxt import Place
from worker_runtime.repository.validation.batching import (
    check_dynamic_batching,
    check_sequence_batching,
    check_states,
)
from worker_runtime.repository.validation.findings import placed
from worker_runtime.repository.validation.model import (
    check_agents,
    check_groups,
    check_identity,
    check_metrics,
    check_response_cache,
    check_warmup,
)
from worker_runtime.repository.validation.named_files import leading_out
from worker_runtime.repository.validation.tensors import check_batches, check_tensors
from worker_runtime.types.instances import Machine

__all__ = [
    "check_configuration",
    "check_devices",
    "check_model",
    "check_named_files",
    "check_tensors_and_batches",
    "placed",
    "validate",
]


def check_configuration(config: Any, places: dict[str, Place]) -> list[Problem]:
    """What a normalised configuration tells before the model is looked at."""
    return [placed(problem, places) for problem in _before(config)]


def check_named_files(config: Any, places: dict[str, Place], *, contained: bool) -> list[Problem]:
    """Names of files that lead out; ``contained``: of libraries and environments, too."""
    return [placed(problem, places) for problem in leading_out(config, strict=contained)]


def check_devices(config: Any, places: dict[str, Place], machine: Machine) -> list[Problem]:
    """Whether the instances can be placed on this machine."""
    return [placed(problem, places) for problem in check_groups(config, machine)]


def check_tensors_and_batches(config: Any, places: dict[str, Place]) -> list[Problem]:
    """What a configuration that nothing completes must tell before the model is looked at."""
    found = (*check_tensors(config), *check_batches(config))
    return [placed(problem, places) for problem in found]


def check_model(config: Any, places: dict[str, Place]) -> list[Problem]:
    """What only a complete configuration tells."""
    return [placed(problem, places) for problem in _after(config, complete=True)]


def validate(config: Any, places: dict[str, Place], *, complete: bool = True) -> list[Problem]:
    """All findings but those about devices, which depend on the machine.

    ``complete``: tensors must be described fully, nothing will fill them in.
    """
    findings = [
        *_before(config),
        *leading_out(config, strict=True),
        *_after(config, complete=complete),
    ]
    return [placed(problem, places) for problem in findings]


def _before(config: Any) -> Iterator[Problem]:
    yield from check_agents(config)
    yield from check_identity(config)
    yield from check_dynamic_batching(config)
    yield from check_sequence_batching(config)
    yield from check_schedule(config)
    yield from check_response_cache(config)
    yield from check_metrics(config)


def _after(config: Any, *, complete: bool) -> Iterator[Problem]:
    yield from check_tensors(config, complete=complete)
    yield from check_batches(config)
    yield from check_groups(config, None)
    yield from check_states(config)
    yield from check_warmup(config)

"""instance_group: kinds, devices, profiles. Kinds and counts are resolved before."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding
from worker_runtime.types.instances import Machine

_GPU, _CPU, _MODEL = 1, 2, 3
_NAMES = {_CPU: "KIND_CPU", _MODEL: "KIND_MODEL"}
_CAPABILITY = "6.000000"  # what Triton's builds ask of a GPU at least
_TENSORRT = "tensorrt_plan"


def check_groups(config: Any, machine: Machine | None) -> Iterator[Problem]:
    """Without ``machine`` it is not asked which GPUs there are."""
    if config.HasField("ensemble_scheduling"):
        return
    for index, group in enumerate(config.instance_group):
        field = f"instance_group[{index}]"
        start = f"instance group {group.name} of model {config.name}"
        if group.kind in _NAMES and group.gpus:
            yield finding(
                f"{field}.gpus",
                f"{start} has kind {_NAMES[group.kind]} but specifies one or more GPUs",
                got=group.gpus,
                expected="no gpus, or kind: KIND_GPU",
            )
        elif group.kind == _GPU and machine is not None:
            yield from _devices(group, start, field, machine)
        if group.profile and config.platform != _TENSORRT:
            # why no blank before specifies: to the letter
            yield finding(
                f"{field}.profile",
                f"{start} and platform {config.platform}specifies profile field which is only "
                "supported for TensorRT models",
            )


def _devices(group: Any, start: str, field: str, machine: Machine) -> Iterator[Problem]:
    if not group.gpus:
        yield finding(
            f"{field}.kind",
            f"{start} has kind KIND_GPU but no GPUs are available",
            got="KIND_GPU",
            expected="KIND_CPU on this machine",
        )
    for gpu in group.gpus:
        if not 0 <= gpu < machine.gpus:
            known = ", ".join(map(str, range(machine.gpus)))
            yield finding(
                f"{field}.gpus",
                f"{start} specifies invalid or unsupported gpu id {gpu}. GPUs with at least the "
                f"minimum required CUDA compute compatibility of {_CAPABILITY} are: {known}",
                got=group.gpus,
                expected=f"some of [{known}]",
            )
            return

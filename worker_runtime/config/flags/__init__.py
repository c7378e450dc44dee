"""The command line's flags: Triton's, spelled as Triton spells them, and ours; a table a group."""

from worker_runtime.config.flags.flag import Flag, Group
from worker_runtime.config.flags.models import (
    BACKEND,
    CACHE,
    MEMORY,
    MODEL_REPOSITORY,
    RATE_LIMITER,
    REPOSITORY_AGENT,
)
from worker_runtime.config.flags.protocols import GRPC, HTTP, SAGEMAKER, VERTEX
from worker_runtime.config.flags.server import (
    CAPTURE,
    DEPRECATED,
    GENERAL,
    LOGGING,
    METRICS,
    SERVER,
    TRACING,
)

GROUPS: tuple[Group, ...] = (
    GENERAL,
    SERVER,
    LOGGING,
    MODEL_REPOSITORY,
    HTTP,
    GRPC,
    SAGEMAKER,
    VERTEX,
    METRICS,
    TRACING,
    CAPTURE,
    BACKEND,
    REPOSITORY_AGENT,
    CACHE,
    RATE_LIMITER,
    MEMORY,
    DEPRECATED,
)
FLAGS: tuple[Flag, ...] = tuple(flag for group in GROUPS for flag in group.flags)
BY_NAME: dict[str, Flag] = {flag.name: flag for flag in FLAGS}

__all__ = ["BY_NAME", "FLAGS", "GROUPS", "Flag", "Group"]

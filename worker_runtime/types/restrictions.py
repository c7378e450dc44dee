"""Which parts of the API are served only to requests that carry a header."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct


class Category(StrEnum):
    """Parts of the API that can be restricted; model readiness counts as health."""

    HEALTH = "health"
    METADATA = "metadata"
    INFERENCE = "inference"
    SHARED_MEMORY = "shared-memory"
    MODEL_CONFIG = "model-config"
    MODEL_REPOSITORY = "model-repository"
    STATISTICS = "statistics"
    TRACE = "trace"
    LOGGING = "logging"


class Restriction(Struct, frozen=True):
    """``key`` as given on the command line: HTTP's header name; gRPC prefixes it."""

    key: str
    value: str


Restrictions: TypeAlias = Mapping[Category, Restriction]

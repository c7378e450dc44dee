"""The one map from faults to gRPC status codes."""

import logging
from enum import IntEnum

from worker_runtime.errors import (
    AlreadyExists,
    Cancelled,
    Internal,
    InvalidArgument,
    NotFound,
    Overloaded,
    RuntimeFault,
    Unavailable,
    Unsupported,
)

logger = logging.getLogger(__name__)


class Status(IntEnum):
    """The codes of gRPC that are used here."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


_CODES: tuple[tuple[type[Exception], Status], ...] = (
    (InvalidArgument, Status.INVALID_ARGUMENT),
    (NotFound, Status.NOT_FOUND),
    (Unavailable, Status.UNAVAILABLE),
    (Unsupported, Status.UNIMPLEMENTED),
    (AlreadyExists, Status.ALREADY_EXISTS),
    (Cancelled, Status.CANCELLED),
    (Internal, Status.INTERNAL),
    (RuntimeFault, Status.UNKNOWN),
)


def status_of(error: BaseException) -> Status:
    """The status of a fault; INTERNAL for what is none."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Status.INTERNAL)


def only_busy(error: BaseException) -> bool:
    """The server is sound and had too much to do: it must not be taken for broken."""
    return isinstance(error, Overloaded)


def as_fault(error: Exception) -> RuntimeFault:
    """What a client is told; surprises are logged."""
    if isinstance(error, RuntimeFault):
        return error
    logger.error("a call failed", exc_info=error)
    return Internal(f"internal error: {type(error).__name__}: {error}")

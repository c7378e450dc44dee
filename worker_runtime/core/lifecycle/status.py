"""How the core tells of a failure with its kind in front, as reasons of versions do."""

from worker_runtime.errors import (
    AlreadyExists,
    Cancelled,
    InvalidArgument,
    LoadFailed,
    NotFound,
    Unavailable,
    Unsupported,
)

_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (InvalidArgument, "Invalid argument"),
    (NotFound, "Not found"),
    (AlreadyExists, "Already exists"),
    (Cancelled, "Cancelled"),
    (Unsupported, "Unsupported"),
    (Unavailable, "Unavailable"),
)


def status_text(error: Exception) -> str:
    """``Invalid argument: the reason``; anything else is internal."""
    if isinstance(error, LoadFailed):
        return f"{error.kind}: {error}"
    kind = next((name for kind, name in _KINDS if isinstance(error, kind)), "Internal")
    return f"{kind}: {str(error) or type(error).__name__}"

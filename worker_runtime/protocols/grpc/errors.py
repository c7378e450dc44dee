"""The one map from facts to gRPC status codes."""

import grpc

from worker_runtime.errors import (
    AlreadyExists,
    Cancelled,
    Internal,
    InvalidArgument,
    NotFound,
    Unavailable,
    Unsupported,
)

_CODES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (InvalidArgument, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFound, grpc.StatusCode.NOT_FOUND),
    (Unavailable, grpc.StatusCode.UNAVAILABLE),
    (Unsupported, grpc.StatusCode.UNIMPLEMENTED),
    (AlreadyExists, grpc.StatusCode.ALREADY_EXISTS),
    (Cancelled, grpc.StatusCode.CANCELLED),
    (Internal, grpc.StatusCode.INTERNAL),
)


def code_of(error: Exception) -> grpc.StatusCode:
    """The status of a fact; INTERNAL for what is no fact."""
    return next(
        (code for kind, code in _CODES if isinstance(error, kind)), grpc.StatusCode.INTERNAL
    )

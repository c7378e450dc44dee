"""Errors, preferences and traces: small values that requests and responses carry."""

import enum
from typing import Optional

from .tensors import incompatible


class ErrorCode(enum.IntEnum):
    """TRITONSERVER_Error_Code."""

    UNKNOWN = 0
    INTERNAL = 1
    NOT_FOUND = 2
    INVALID_ARG = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    ALREADY_EXISTS = 6
    CANCELLED = 7


class MemoryType(enum.IntEnum):
    """The kinds of memory that a preference may name."""

    TRITONSERVER_MEMORY_GPU = 0
    TRITONSERVER_MEMORY_CPU = 1


class TritonError:
    """An error as part of a response."""

    UNKNOWN = ErrorCode.UNKNOWN
    INTERNAL = ErrorCode.INTERNAL
    NOT_FOUND = ErrorCode.NOT_FOUND
    INVALID_ARG = ErrorCode.INVALID_ARG
    UNAVAILABLE = ErrorCode.UNAVAILABLE
    UNSUPPORTED = ErrorCode.UNSUPPORTED
    ALREADY_EXISTS = ErrorCode.ALREADY_EXISTS
    CANCELLED = ErrorCode.CANCELLED

    def __init__(self, message: str, code: int = ErrorCode.INTERNAL) -> None:
        if not isinstance(message, str):
            raise incompatible(f"expected a text, got {type(message).__name__}")
        self._message = message
        try:
            self._code = ErrorCode(code)
        except ValueError:
            raise incompatible(f"{code!r} is no error code") from None

    def message(self) -> str:
        return self._message

    def code(self) -> ErrorCode:
        return self._code

    def __str__(self) -> str:
        return self._message


class PreferredMemory:
    """Where a BLS caller would like the outputs; results are in host memory here."""

    def __init__(self, preferred_memory_type: MemoryType, preferred_device_id: int = 0) -> None:
        if not isinstance(preferred_memory_type, MemoryType):
            raise incompatible("preferred_memory_type is no TRITONSERVER_MEMORY_CPU or _GPU")
        self.preferred_memory_type = preferred_memory_type
        self.preferred_device_id = preferred_device_id


class InferenceTrace:
    """The trace that a request belongs to, to be given to the requests that it leads to."""

    def __init__(self, context: "Optional[str]" = None, number: int = -1) -> None:
        self._context = context
        self._number = number  # of the request, as the server counts them

    def get_context(self) -> "Optional[str]":
        """The OpenTelemetry context as JSON, None when the request is not traced so."""
        return self._context

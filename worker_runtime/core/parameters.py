"""What the parameters of a request mean: the rules that HTTP and gRPC share, and where they differ.

JSON carries values without types of their own, gRPC names the type of each; both readers end in
the same ``RequestParameters``. Parameters of single inputs and outputs are the protocols' own.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from worker_runtime.errors import Internal, InvalidArgument, Unsupported
from worker_runtime.types.request import ParameterValue, SequencePart

EMPTY_FINAL = "triton_enable_empty_final_response"

_RESERVED_PREFIX = "triton_"
_RESERVED_JSON = (
    "parameter keys starting with 'triton_' are reserved for Triton usage and should not be "
    "specified."
)
_RESERVED_TYPED = (
    "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys "
    f"starting with 'triton_' are allowed: {EMPTY_FINAL}"
)
# Parameters with a meaning: a forwarded header must not be able to set them.
_KNOWN = frozenset(
    {
        "binary_data_output",
        "headers",
        "priority",
        "sequence_end",
        "sequence_id",
        "sequence_start",
        "timeout",
    }
)
_INT64, _UINT64 = 1 << 63, 1 << 64
_MAX_ID_LENGTH = 128
_MAX_REMEMBERED = 1024


class RequestParameters(msgspec.Struct, frozen=True):
    """``priority`` is as given: whoever queues knows the levels and the default.

    ``custom`` holds what means nothing to the server, None when there is none of it.
    ``empty_final`` asks a stream for an answer without outputs after the last one.
    """

    sequence: SequencePart | None = None
    priority: int = 0
    timeout_ns: int = 0
    custom: dict[str, ParameterValue] | None = None
    empty_final: bool = False


NOTHING = RequestParameters()


def from_json(parameters: Any) -> RequestParameters:
    """Read the ``parameters`` object of an HTTP request. Raises a RuntimeFault."""
    if not isinstance(parameters, dict):
        raise Internal("failed to get request params.: attempt to get members for non-object")
    found = _Found()
    for key, value in parameters.items():
        if key == "sequence_id":
            found.sequence_id = _json_sequence_id(value)
        elif key == "sequence_start":
            found.start = _json_bool(key, value)
        elif key == "sequence_end":
            found.end = _json_bool(key, value)
        elif key == "priority":
            found.priority = _json_uint(key, value)
        elif key == "timeout":
            found.timeout_us = _json_uint(key, value)
        elif key == "binary_data_output":
            _json_bool(key, value)  # the front end reads it; here it only has to be right
        elif key.startswith(_RESERVED_PREFIX):
            raise InvalidArgument(_RESERVED_JSON)
        else:
            found.custom[key] = json_value(key, value)
    return found.result()


def json_value(key: str, value: Any) -> ParameterValue:
    """A custom parameter of an HTTP request. Raises InvalidArgument for null, lists, objects."""
    if isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        # what does not fit a signed 64-bit integer is a number like any other
        return value if -_INT64 <= value < _INT64 else float(value)
    raise InvalidArgument(
        f"parameter '{key}' has invalid type. It should be either 'int', 'bool', or 'string'."
    )


def from_typed(parameters: Iterable[tuple[str, str, Any]]) -> RequestParameters:
    """Read gRPC's parameters, each with the name of the field it came in (``int64_param``...).

    Raises InvalidArgument or Unsupported.
    """
    found = _Found()
    for key, kind, value in parameters:
        if key == "sequence_id":
            found.sequence_id = _typed_sequence_id(kind, value)
        elif key == "sequence_start":
            found.start = _typed(key, kind, value, "bool_param")
        elif key == "sequence_end":
            found.end = _typed(key, kind, value, "bool_param")
        elif key == "priority":
            found.priority = _typed_priority(kind, value)
        elif key == "timeout":
            # why the modulo: Triton keeps it unsigned, a negative one never runs out
            found.timeout_us = _typed(key, kind, value, "int64_param") % _UINT64
        elif key.startswith(_RESERVED_PREFIX):
            if key != EMPTY_FINAL:
                raise InvalidArgument(_RESERVED_TYPED)
            found.empty_final = _typed(key, kind, value, "bool_param")
        elif kind in ("int64_param", "bool_param", "string_param", "double_param"):
            found.custom[key] = value
        else:
            raise _wrong_type(key, "int64_param, bool_param, or string_param")
    return found.result()


class _Found:
    """What a reader has seen so far."""

    __slots__ = ("custom", "empty_final", "end", "priority", "sequence_id", "start", "timeout_us")

    def __init__(self) -> None:
        self.sequence_id: int | str = 0
        self.start = self.end = self.empty_final = False
        self.priority = self.timeout_us = 0
        self.custom: dict[str, ParameterValue] = {}

    def result(self) -> RequestParameters:
        sequence = None
        if self.sequence_id:  # 0 and "" mean that it belongs to none
            sequence = SequencePart(self.sequence_id, self.start, self.end)
        return RequestParameters(
            sequence,
            self.priority,
            self.timeout_us * 1000,
            self.custom or None,
            self.empty_final,
        )


def _json_sequence_id(value: Any) -> int | str:
    if isinstance(value, str):
        return _checked_id(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UINT64:
        return value
    raise Internal(  # as Triton's reader of JSON counts wrong types
        "Unable to parse 'sequence_id': attempt to access JSON non-string as string"
    )


def _json_bool(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise Internal(f"Unable to parse '{key}': attempt to access JSON non-boolean as boolean")
    return value


def _json_uint(key: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UINT64:
        return value
    raise Internal(
        f"Unable to parse '{key}': attempt to access JSON non-unsigned-integer as unsigned-integer"
    )


def _checked_id(value: str) -> str:
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidArgument("string correlation ID is not valid UTF-8") from None
    if length > _MAX_ID_LENGTH:
        raise Unsupported(
            f"string correlation ID cannot be longer than {_MAX_ID_LENGTH} characters"
        )
    return value


def _typed_sequence_id(kind: str, value: Any) -> int | str:
    if kind == "int64_param":
        return int(value) % _UINT64
    if kind == "string_param":
        return _checked_id(value)
    raise _wrong_type("sequence_id", "int64_param or string_param")


def _typed_priority(kind: str, value: Any) -> int:
    if kind not in ("int64_param", "uint64_param"):
        raise _wrong_type("priority", "int64_param or uint64_param")
    if value < 0:
        raise InvalidArgument("invalid value for 'priority', expected value >= 0.")
    return int(value)


def _typed(key: str, kind: str, value: Any, expected: str) -> Any:
    if kind != expected:
        raise _wrong_type(key, expected)
    return value


def _wrong_type(key: str, expected: str) -> InvalidArgument:
    return InvalidArgument(f"invalid value type for '{key}' parameter, expected {expected}.")


class HeaderForward:
    """Turns headers whose name fits a pattern into custom parameters.

    The pattern may fit anywhere in the name, in any case. Raises InvalidArgument when it is none.
    """

    def __init__(self, pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern, re.IGNORECASE)
        except re.error as error:
            raise InvalidArgument(
                f"'{pattern}' is not a regular expression to forward headers by: {error}"
            ) from error
        self._known: dict[str, bool] = {}

    def wants(self, name: str) -> bool:
        """Whether a header of this name is forwarded."""
        wanted = self._known.get(name)
        if wanted is None:
            wanted = self._pattern.search(name) is not None
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            self._known[name] = wanted
        return wanted

    def parameters(self, headers: Iterable[tuple[str, str]]) -> dict[str, ParameterValue]:
        """The forwarded headers. Raises InvalidArgument for names that mean something else."""
        found: dict[str, ParameterValue] = {}
        for name, value in headers:
            if not self.wants(name):
                continue
            lower = name.lower()
            if lower.startswith(_RESERVED_PREFIX):
                raise InvalidArgument(_RESERVED_JSON)
            if lower in _KNOWN:
                raise InvalidArgument(
                    f"parameter key '{name}' is reserved for Triton usage and should not be "
                    "specified."
                )
            found[name] = value
        return found


def joined(
    custom: dict[str, ParameterValue] | None, forwarded: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue] | None:
    """Parameters of the body and forwarded headers as one; the headers win. None when empty."""
    if not forwarded:
        return custom
    return {**custom, **forwarded} if custom else dict(forwarded)

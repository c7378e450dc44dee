"""Changes of the log settings that clients ask for: Triton's rules and texts."""

from collections.abc import Mapping
from typing import Any

from worker_runtime.errors import Internal, InvalidArgument, RuntimeFault, Unavailable, Unsupported
from worker_runtime.observability.dialect import Dialect
from worker_runtime.observability.logging import FORMATS, LogOptions

_BOOLEANS = {"log_info": "info", "log_warning": "warning", "log_error": "error"}
_UINT32, _UINT64 = 2**32 - 1, 2**64 - 1


def shown(options: LogOptions) -> dict[str, bool | int | str]:
    """The settings as both protocols show them, in HTTP's order."""
    return {
        "log_file": options.file,
        "log_info": options.info,
        "log_warning": options.warning,
        "log_error": options.error,
        "log_verbose_level": options.verbose,
        "log_format": options.format,
    }


def read(changes: Mapping[str, Any], dialect: Dialect) -> dict[str, bool | int | str]:
    """Fields of LogOptions with their new values. Unknown names are passed over.

    ``changes`` are JSON values, or (gRPC) bool, int or str by the parameter that was set, None
    for none. Raises Unsupported, InvalidArgument, Unavailable or Internal in Triton's words.
    """
    if "log_file" in changes:
        raise Unsupported("log file location can not be updated through network protocol")
    found: dict[str, bool | int | str] = {}
    for name, field in _BOOLEANS.items():
        value = _given(changes, name, dialect)
        if value is _ABSENT:
            continue
        if not isinstance(value, bool):
            raise _mistyped(dialect, name, "boolean", "boolean")
        found[field] = value
    level = _given(changes, "log_verbose_level", dialect)
    if level is not _ABSENT:
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= _UINT64:
            raise _mistyped(dialect, "log_verbose_level", "unsigned-integer", "int32")
        found["verbose"] = level & _UINT32
    form = _given(changes, "log_format", dialect)
    if form is not _ABSENT:
        if not isinstance(form, str):
            raise _mistyped(dialect, "log_format", "string", "string")
        if form not in FORMATS:
            raise _bad_format(dialect, form)
        found["format"] = form
    return found


_ABSENT = object()


def _given(changes: Mapping[str, Any], name: str, dialect: Dialect) -> Any:
    value = changes.get(name, _ABSENT)
    return _ABSENT if value is None and dialect is Dialect.JSON else value


def _mistyped(dialect: Dialect, name: str, json_kind: str, grpc_kind: str) -> RuntimeFault:
    if dialect is Dialect.JSON:
        return Internal(f"attempt to access JSON non-{json_kind} as {json_kind}")
    return InvalidArgument(f"expect {grpc_kind} for '{name}'")


def _bad_format(dialect: Dialect, form: str) -> RuntimeFault:
    if dialect is Dialect.JSON:
        return Unavailable(f"invalid argument for --log_format, got: {form}")
    return InvalidArgument(f"invalid argument for log_format, got: {form}")

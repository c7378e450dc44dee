"""Log lines in Triton's form (people grep for it), or as JSON; settings can change while it runs.

A record with ``extra={"table": text}`` shows the table below its line, as it is. One that belongs
to a request carries ``extra={"request_id": id}``, which JSON lines show as a member. Changes that
clients ask for follow Triton's rules, in its texts.
"""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from worker_runtime.errors import Internal, InvalidArgument, RuntimeFault, Unavailable, Unsupported
from worker_runtime.observability.dialect import Dialect

_LETTERS = {"WARNING": "W", "ERROR": "E", "CRITICAL": "E"}  # verbose lines are I in Triton, too
FORMATS = ("default", "ISO8601", "json")
_BOOLEANS = {"log_info": "info", "log_warning": "warning", "log_error": "error"}
_UINT32, _UINT64 = 2**32 - 1, 2**64 - 1


class LogOptions(Struct, frozen=True):
    """``verbose`` n shows verbose lines up to level n. ``file`` "": the console.

    ``escaped``: texts are JSON strings, so that nothing in them can fake a line.
    """

    verbose: int = 0
    info: bool = True
    warning: bool = True
    error: bool = True
    format: str = "default"
    file: str = ""
    escaped: bool = True


class TritonFormatter(logging.Formatter):
    """``I1121 04:25:00.123456 4242 file.py:10] "text"``; ISO 8601 times on request.

    The text is escaped as a JSON string: what a client sends cannot fake a line of its own.
    """

    def __init__(self, *, iso8601: bool = False, escaped: bool = True) -> None:
        super().__init__()
        self._iso8601 = iso8601
        self._escaped = escaped

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if text and self._escaped:
            text = json.dumps(text, ensure_ascii=False)
        letter = _LETTERS.get(record.levelname, "I")
        where = f"{record.process} {record.filename}:{record.lineno}]"
        line = f"{self._begin(record, letter)} {where} {text}"
        table = getattr(record, "table", None)
        if table:
            line = f"{line}\n{table}\n"
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n    {part}" for part in trace.splitlines())
        return line

    def _begin(self, record: logging.LogRecord, letter: str) -> str:
        moment = time.gmtime(record.created)
        if self._iso8601:
            return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', moment)} {letter}"
        micros = int(record.created % 1 * 1_000_000)
        return f"{letter}{time.strftime('%m%d %H:%M:%S', moment)}.{micros:06}"


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, pid, where, message, and what the record knows beside."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        shown: dict[str, object] = {
            "time": f"{moment}.{int(record.created % 1 * 1_000_000):06}Z",
            "level": "VERBOSE" if record.levelno <= logging.DEBUG else record.levelname,
            "pid": record.process,
            "where": f"{record.filename}:{record.lineno}",
            "message": record.getMessage(),
        }
        for name in ("request_id", "model", "table"):
            value = getattr(record, name, None)
            if value:
                shown[name] = value
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return json.dumps(shown, ensure_ascii=False)


class _Levels(logging.Filter):
    """Information, warnings and errors are switched one by one, as Triton does it."""

    def __init__(self, options: LogOptions) -> None:
        super().__init__()
        self.options = options

    def filter(self, record: logging.LogRecord) -> bool:
        options = self.options
        if record.levelno >= logging.ERROR:
            return options.error
        if record.levelno >= logging.WARNING:
            return options.warning
        if record.levelno >= logging.INFO:
            return options.info
        return logging.DEBUG - record.levelno < options.verbose


class LogControl:
    """The runtime's log: one handler, whose options change while the server runs."""

    def __init__(self, options: LogOptions | None = None) -> None:
        self.options = options or LogOptions()
        self._levels = _Levels(self.options)
        self._handler: logging.Handler | None = None

    def open(self) -> None:
        """Send the runtime's lines to the file or stderr. Raises OSError."""
        handler: logging.Handler = (
            logging.FileHandler(self.options.file)
            if self.options.file
            else logging.StreamHandler(sys.stderr)
        )
        handler.addFilter(self._levels)
        self._handler = handler
        root = logging.getLogger("worker_runtime")
        root.handlers[:] = [handler]
        root.propagate = False
        self._apply(self.options)

    def change(self, **changes: object) -> None:
        """Replace single options, at once."""
        self._apply(replace(self.options, **changes))

    def _apply(self, options: LogOptions) -> None:
        self.options = self._levels.options = options
        if self._handler is None:
            return
        self._handler.setFormatter(
            JsonFormatter()
            if options.format == "json"
            else TritonFormatter(iso8601=options.format == "ISO8601", escaped=options.escaped)
        )
        # why so low and no filter alone: isEnabledFor() then spares the work of building a line.
        lowest = logging.INFO if options.info else logging.WARNING
        if options.verbose:
            lowest = max(1, logging.DEBUG - options.verbose + 1)
        logging.getLogger("worker_runtime").setLevel(lowest)


def settings_shown(options: LogOptions) -> dict[str, bool | int | str]:
    """The settings as both protocols show them, in HTTP's order."""
    return {
        "log_file": options.file,
        "log_info": options.info,
        "log_warning": options.warning,
        "log_error": options.error,
        "log_verbose_level": options.verbose,
        "log_format": options.format,
    }


def read_changes(changes: Mapping[str, Any], dialect: Dialect) -> dict[str, bool | int | str]:
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

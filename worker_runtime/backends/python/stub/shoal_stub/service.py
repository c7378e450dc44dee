"""What models ask of the server besides inference: logs, metrics, other models."""

import base64
import enum
import inspect
from typing import Any, Optional

from .session import Session
from .tensors import TritonModelException

_SESSION: "list[Session]" = []


def use_session(session: Session) -> None:
    _SESSION[:] = [session]


def _session() -> Session:
    if not _SESSION:
        raise TritonModelException("only possible inside a running model")
    return _SESSION[0]


class LogLevel(enum.Enum):
    INFO = 0
    WARNING = 1
    ERROR = 2
    VERBOSE = 3


class Logger:
    """Writes to the server's log; used without an instance, or as an instance."""

    LogLevel: "type[LogLevel]" = LogLevel
    INFO = LogLevel.INFO
    WARNING = LogLevel.WARNING
    ERROR = LogLevel.ERROR
    VERBOSE = LogLevel.VERBOSE

    @staticmethod
    def log(message: str, level: Any = LogLevel.INFO) -> None:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        _log(message, level, caller)

    @staticmethod
    def log_info(message: str) -> None:
        _log(message, LogLevel.INFO, _caller())

    @staticmethod
    def log_warn(message: str) -> None:
        _log(message, LogLevel.WARNING, _caller())

    @staticmethod
    def log_error(message: str) -> None:
        _log(message, LogLevel.ERROR, _caller())

    @staticmethod
    def log_verbose(message: str) -> None:
        _log(message, LogLevel.VERBOSE, _caller())


def _caller() -> Any:
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame.f_back if frame is not None else None
    return frame


def _log(message: Any, level: Any, frame: Any) -> None:
    if not isinstance(message, str) or not isinstance(level, LogLevel):
        raise TypeError(
            "log(): incompatible function arguments: expected a text and a LogLevel, got "
            f"{type(message).__name__} and {type(level).__name__}"
        )
    place = ["", 0] if frame is None else [frame.f_code.co_filename, frame.f_lineno]
    _session().channel.send({"op": "log", "level": level.value, "text": message, "at": place})


class MetricFamily:
    """Metrics of one name in the server's ``/metrics``."""

    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2

    def __init__(self, name: str, description: str, kind: int) -> None:
        self.name = name
        _session().ask(
            {"op": "metric", "do": "family", "name": name, "text": description, "kind": int(kind)}
        )

    def Metric(self, labels: "Optional[dict[str, str]]" = None, buckets: Any = None) -> "Metric":
        return Metric(self, labels, buckets)


class Metric:
    def __init__(
        self, family: MetricFamily, labels: "Optional[dict[str, str]]" = None, buckets: Any = None
    ) -> None:
        self._family = family
        self._labels = {str(k): str(v) for k, v in (labels or {}).items()}
        self._do("make", buckets=None if buckets is None else [float(b) for b in buckets])

    def _do(self, what: str, **more: Any) -> "dict[str, Any]":
        message = {"op": "metric", "do": what, "name": self._family.name, "labels": self._labels}
        message.update(more)
        return _session().ask(message)

    def increment(self, value: float) -> None:
        self._do("increment", value=float(value))

    def set(self, value: float) -> None:
        self._do("set", value=float(value))

    def set_value(self, value: float) -> None:
        self.set(value)

    def observe(self, value: float) -> None:
        self._do("observe", value=float(value))

    def value(self) -> float:
        return float(self._do("value")["value"])


def load_model(
    model_name: str, config: str = "", files: "Optional[dict[str, bytes]]" = None
) -> None:
    """Load or reload a model (explicit mode). Raises TritonModelException."""
    packed = {path: base64.b64encode(data).decode() for path, data in (files or {}).items()}
    _session().ask(
        {"op": "model", "do": "load", "name": model_name, "config": config, "files": packed}
    )


def unload_model(model_name: str, unload_dependents: bool = False) -> None:
    _session().ask(
        {"op": "model", "do": "unload", "name": model_name, "dependents": bool(unload_dependents)}
    )


def is_model_ready(model_name: str, model_version: str = "") -> bool:
    reply = _session().ask(
        {"op": "model", "do": "is_ready", "name": model_name, "version": str(model_version)}
    )
    return bool(reply["ready"])

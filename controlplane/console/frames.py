"""What travels over the live socket: requests in, frames out. Pure."""

import json
import math
from dataclasses import dataclass
from datetime import date
from typing import Any

MAX_REQUEST_CHARS = 4096
MAX_RANGE_S = 3600.0
DEFAULT_RANGE_S = 300.0
MIN_HZ, MAX_HZ = 0.1, 2.0
TOPIC_KINDS = ("endpoint", "operation", "pipeline")
TOPIC_NAMES = ("events", "overview")


class BadRequest(ValueError):
    """A request that cannot be understood; the socket answers with an error frame and lives on."""

    def __init__(self, code: str, message: str, topic: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.topic = topic


@dataclass(frozen=True, slots=True)
class Subscribe:
    topic: str
    range_s: float
    after_seq: int | None
    changes: bool = False  # of the overview, what differs from the frame before is enough


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    topic: str


@dataclass(frozen=True, slots=True)
class Rate:
    hz: float


Request = Subscribe | Unsubscribe | Rate


def parse(text: str) -> Request:
    """Raises BadRequest."""
    data = json_object(text, MAX_REQUEST_CHARS)
    topic = data.get("topic", "")
    match data.get("op"):
        case "sub":
            return Subscribe(_topic(topic), _range(data), _after(data), _changes(data))
        case "unsub":
            return Unsubscribe(_topic(topic))
        case "rate":
            hz = _number(data, "hz", MAX_HZ)
            return Rate(min(MAX_HZ, max(MIN_HZ, hz)))
        case other:
            raise BadRequest("BadRequest", f"op: expected sub, unsub or rate, got {other!r}.")


def json_object(text: str, limit: int) -> dict[str, Any]:
    """A request of at most ``limit`` characters. Raises BadRequest."""
    if len(text) > limit:
        raise BadRequest("TooLarge", f"A request has at most {limit} characters.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRequest("BadRequest", f"Not JSON: {error}") from error
    if not isinstance(data, dict):
        raise BadRequest("BadRequest", "Expected a JSON object.")
    return data


def _topic(value: object) -> str:
    if isinstance(value, str) and value.isprintable():  # no NUL, no half of a character
        kind, colon, name = value.partition(":")
        if value in TOPIC_NAMES or (colon and name and kind in TOPIC_KINDS):
            return value
    raise BadRequest(
        "UnknownTopic",
        "topic: expected endpoint:<name>, pipeline:<endpoint>/<deployment>, operation:<id>, events "
        f"or overview, got {value!r}.",
        str(value)[:200],
    )


def _number(data: dict[str, Any], name: str, default: float) -> float:
    value = data.get(name, default)
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not math.isfinite(number):
        raise BadRequest("BadRequest", f"{name}: expected a number, got {value!r:.80}.")
    return number


def _range(data: dict[str, Any]) -> float:
    return min(MAX_RANGE_S, max(1.0, _number(data, "range", DEFAULT_RANGE_S)))


def _after(data: dict[str, Any]) -> int | None:
    value = data.get("after_seq")
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise BadRequest("BadRequest", f"after_seq: expected a whole number, got {value!r}.")


def _changes(data: dict[str, Any]) -> bool:
    value = data.get("changes", False)
    if isinstance(value, bool):
        return value
    raise BadRequest("BadRequest", f"changes: expected true or false, got {value!r:.80}.")


def dump(frame: dict[str, Any]) -> str:
    """JSON that every browser reads: no NaN, times as RFC 3339."""
    try:
        return json.dumps(frame, separators=(",", ":"), default=_plain, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(frame), separators=(",", ":"), default=_plain, allow_nan=False)


def error(code: str, message: str, topic: str = "") -> str:
    return dump({"type": "error", "topic": topic, "code": code, "message": message})


def _plain(value: object) -> Any:
    if isinstance(value, date):  # datetimes too
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value

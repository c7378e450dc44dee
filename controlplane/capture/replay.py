"""Finding what a client sent among captured records. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

_ESCAPED: Final = re.compile(r"\\x[0-9a-f]{2}")  # how the runtime writes bytes that are no UTF-8


def record_of(lines: Iterable[bytes], request_id: str, at: float) -> dict[str, Any] | None:
    """The record with this x-request-id that is closest to ``at`` (Unix seconds). Clients may send
    one id often, and nodes what they like: what is no record is passed over."""
    wanted = json.dumps(request_id).encode()
    found: list[dict[str, Any]] = []
    for line in lines:
        if wanted not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.get("x_request_id") == request_id:
            found.append(record)
    return min(found, key=lambda record: abs(_moment(record) - at), default=None)


def _moment(record: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(record.get("time"))).timestamp()
    except ValueError:
        return 0.0


class Fault(StrEnum):
    """Why a captured tensor cannot be sent again."""

    HASHED = "hashed"
    OMITTED = "omitted"
    NOT_FINITE = "not_finite"
    NOT_TEXT = "not_text"
    UNREADABLE = "unreadable"


_WORDS: Final[Mapping[Fault, str]] = {
    Fault.HASHED: "only digests of it are kept",
    Fault.OMITTED: "not captured",
    Fault.NOT_FINITE: "it has values that are no finite numbers, which are not captured",
    Fault.NOT_TEXT: "it has bytes that are no text",
    Fault.UNREADABLE: "not readable",
}


def inputs_of(record: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Inputs that can be sent again, and why others cannot."""
    kept, told = [], []
    for tensor in record.get("inputs") or []:
        if not isinstance(tensor, dict):
            continue
        name = str(tensor.get("name", ""))[:255]
        fault = fault_of(tensor)
        if fault is not None:
            why = f", {str(tensor['omitted'])[:100]}" if fault is Fault.OMITTED else ""
            told.append(f"{name}: {_WORDS[fault]}{why}")
        else:
            kept.append(
                {
                    "name": name,
                    "datatype": str(tensor.get("datatype", "")),
                    "shape": tensor["shape"],
                    "data": tensor["data"],
                }
            )
    if not kept and not told:
        told.append("inputs are not captured")
    return kept, "; ".join(told)


def fault_of(tensor: Mapping[str, Any]) -> Fault | None:
    """None: all of it is there as the client sent it."""
    if tensor.get("hashed"):
        return Fault.HASHED
    if "omitted" in tensor:
        return Fault.OMITTED
    data, shape = tensor.get("data"), tensor.get("shape")
    if not isinstance(data, list) or not isinstance(shape, list):
        return Fault.UNREADABLE
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        return Fault.UNREADABLE
    if None in data:
        return Fault.NOT_FINITE
    if any(isinstance(value, str) and _ESCAPED.search(value) for value in data):
        return Fault.NOT_TEXT
    return None

"""Finding what a client sent among captured records. Pure."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any


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


def inputs_of(record: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Inputs that can be sent again, and why others cannot."""
    kept, told = [], []
    for tensor in record.get("inputs") or []:
        if not isinstance(tensor, dict):
            continue
        name, data = str(tensor.get("name", ""))[:255], tensor.get("data")
        why = _refusal(tensor, data)
        if why:
            told.append(f"{name}: {why}")
        else:
            kept.append(
                {
                    "name": name,
                    "datatype": str(tensor.get("datatype", "")),
                    "shape": tensor.get("shape"),
                    "data": data,
                }
            )
    if not kept and not told:
        told.append("inputs are not captured")
    return kept, "; ".join(told)


def _refusal(tensor: dict[str, Any], data: Any) -> str:
    if tensor.get("omitted"):
        return f"not captured, {str(tensor['omitted'])[:100]}"
    if tensor.get("hashed"):
        return "only digests of it are kept"
    shape = tensor.get("shape")
    whole = isinstance(data, list) and isinstance(shape, list)
    if not whole or not all(isinstance(size, int) and size >= 0 for size in shape or []):
        return "not readable"
    if any(value is None for value in data):
        return "it has values that are no finite numbers, which are not captured"
    return ""

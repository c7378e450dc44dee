"""JSON lines in, JSON lines out: validation for as long as the caller keeps the pipe open."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from worker_runtime.errors import RuntimeFault
from worker_runtime.inspection.load_settings import load_settings, with_load_settings
from worker_runtime.inspection.validation import validate_text
from worker_runtime.repository.code.verdict import code_in_names, code_in_text
from worker_runtime.repository.config_json import from_json
from worker_runtime.repository.pbtxt import render


def answers(lines: Iterable[str]) -> Iterator[str]:
    """One JSON line per request line; bad requests are answered, too."""
    for line in lines:
        if line.strip():
            yield json.dumps(_answer(line))


def _answer(line: str) -> dict[str, Any]:
    request_id: Any = None
    try:
        request = json.loads(line)
        request_id = request.get("id")
        return {"id": request_id, **_dispatch(request)}
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeFault) as error:
        return {"id": request_id, "ok": False, "error": f"{type(error).__name__}: {error}"}


def _dispatch(request: dict[str, Any]) -> dict[str, Any]:
    if request["op"] == "validate":
        return validate_text(
            request["text"],
            request.get("model") or "",
            request.get("graph"),
            request.get("neighbours"),
        )
    if request["op"] == "render":
        return {"text": render(from_json(request["config"]))}
    if request["op"] == "load_settings":
        return {"ok": True, **load_settings(request["effective"])}
    if request["op"] == "with_load_settings":
        wanted = {name: request[name] for name in ("instances", "batch", "delay_us")}
        return {"ok": True, "text": with_load_settings(request["text"], **wanted)}
    if request["op"] == "code":
        found = code_in_text(request["model"], request["text"], request["files"])
        return {"ok": True, "code": [reason.as_json() for reason in found]}
    if request["op"] == "code_names":
        return {"ok": True, "code": [item.as_json() for item in code_in_names(request["files"])]}
    raise ValueError(f"unknown op {request['op']!r}")

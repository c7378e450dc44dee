"""Loaded by schemathesis: half of the names it makes up are exchanged for names that exist.

What a run must not lose (its own users and tokens, the objects that others ask for) is never the
target of a call that removes it; those get a spare one.
"""

import json
import os
import zlib
from typing import Any

import schemathesis

KNOWN: dict[str, list[Any]] = json.loads(os.environ.get("SHOAL_API_FUZZ_KNOWN", "{}"))
SPARE: dict[str, Any] = json.loads(os.environ.get("SHOAL_API_FUZZ_SPARE", "{}"))
LONGEST_WAIT_S = "0.2"


def _number(value: Any) -> int:
    return zlib.crc32(repr(value).encode())


@schemathesis.hook
def map_path_parameters(
    context: Any, path_parameters: dict[str, Any] | None
) -> dict[str, Any] | None:
    removing = context.operation.method.lower() == "delete"
    if not path_parameters:
        return path_parameters
    found = dict(path_parameters)
    guarded = removing or "/users/" in context.operation.path
    for name, value in path_parameters.items():
        drawn = _number(value)
        if guarded and name in SPARE:
            found[name] = SPARE[name]
        elif name in KNOWN and drawn % 3:
            found[name] = KNOWN[name][drawn % len(KNOWN[name])]
    return found


@schemathesis.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    if query and "wait" in query:
        query["wait"] = LONGEST_WAIT_S
    return query


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Names in bodies: a model that exists, mostly."""
    if isinstance(body, dict):
        for name in ("model", "upload_id", "endpoint", "node"):
            if isinstance(body.get(name), str) and _number(body[name]) % 3 and name in KNOWN:
                body[name] = KNOWN[name][0]
    return body


@schemathesis.serializer("application/offset+octet-stream")
def chunk(context: Any, value: Any) -> bytes:
    """A piece of an upload: bytes as they are."""
    del context
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")

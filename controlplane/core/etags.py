"""Which state of an object a client has seen: `ETag` on answers, `If-Match` on writes."""

import hashlib
import json
from typing import Any

from rest_framework.request import Request

from controlplane.core.errors import PreconditionFailed


def etag_of(*parts: Any) -> str:
    """A weak tag of what a person may change, so that states that only nodes move do not count."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def if_match_check(request: Request, current: str | None) -> None:
    """Raises PreconditionFailed when the client has seen another state; without a header, never.

    ``current`` is None for what does not exist: nobody has seen that.
    """
    wanted = request.headers.get("If-Match")
    if wanted is None or (wanted.strip() == "*" and current is not None):
        return
    if current is None:
        raise PreconditionFailed(
            "It does not exist: `If-Match` asks for one that does.",
            hints=("Leave `If-Match` out, or send `If-None-Match: *`, to make it.",),
        )
    seen = [part.strip().removeprefix("W/") for part in wanted.split(",")]
    if current.removeprefix("W/") not in seen:
        raise PreconditionFailed(
            "It was changed since you read it.",
            hints=("Read it again, look at the difference, then send your change.",),
            extra={"etag": current},
        )


def if_none_match_check(request: Request, current: str | None) -> None:
    """Raises PreconditionFailed when it exists (``current``) and the client says that it must not.

    Only ``*`` and what the client has seen count, as RFC 9110 has it for writes.
    """
    unwanted = request.headers.get("If-None-Match")
    if unwanted is None or current is None:
        return
    seen = [part.strip().removeprefix("W/") for part in unwanted.split(",")]
    if unwanted.strip() == "*" or current.removeprefix("W/") in seen:
        raise PreconditionFailed(
            "It exists already, and `If-None-Match` asks for one that does not.",
            hints=("Leave `If-None-Match` out to change it.",),
            extra={"etag": current},
        )

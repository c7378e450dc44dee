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


def if_match_check(request: Request, current: str) -> None:
    """Raises PreconditionFailed when the client has seen another state; without a header, never."""
    wanted = request.headers.get("If-Match")
    if wanted is None or wanted.strip() == "*":
        return
    seen = [part.strip().removeprefix("W/") for part in wanted.split(",")]
    if current.removeprefix("W/") not in seen:
        raise PreconditionFailed(
            "It was changed since you read it.",
            hints=("Read it again, look at the difference, then send your change.",),
            extra={"etag": current},
        )

"""Which state of an object a client has seen: `ETag` on answers, `If-Match` on writes."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from controlplane.core.errors import PreconditionFailed

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="the `ETag` that you have seen; 412 `PreconditionFailed` when it has changed: "
    "`current` is how it is now, `changed` (`by`, `at`, `what`) who made it so, or null",
)


@dataclass(frozen=True, slots=True)
class LastChange:
    """Who made an object what it is now."""

    by: str
    at: datetime
    what: str  # a sentence without its end


def etag_of(*parts: Any) -> str:
    """A weak tag of what a person may change, so that states that only nodes move do not count."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


@contextmanager
def if_match(
    request: Request,
    row: QuerySet[Any],
    shown: Callable[[], Any],
    tag: Callable[[Any], str],
    *,
    changed: Callable[[], LastChange | None] = lambda: None,
) -> Iterator[None]:
    """What is done inside happens to what the client has seen, or not at all.

    ``row`` is locked, so that of two with the same tag only one gets through; ``shown`` is its
    representation and ``tag`` that one's tag; ``changed`` finds who made it so.
    """
    if "If-Match" not in request.headers:
        yield
        return
    with transaction.atomic():
        row.select_for_update().order_by().first()
        body = shown()
        if_match_check(request, tag(body), body, changed=changed)
        yield


def if_match_check(
    request: Request,
    current: str | None,
    shown: Any = None,
    *,
    changed: Callable[[], LastChange | None] = lambda: None,
) -> None:
    """Raises PreconditionFailed when the client has seen another state; without a header, never.

    ``current`` is None for what does not exist: nobody has seen that. ``shown`` is how it is now,
    ``changed`` finds who made it so.
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
        last = changed()
        told = f" {last.what}, by {last.by}, {last.at:%Y-%m-%d %H:%M:%S} UTC." if last else ""
        raise PreconditionFailed(
            f"It was changed since you read it.{told}",
            hints=("`current` is how it is now: look at the difference, then send your change.",),
            extra={"etag": current, "current": shown, "changed": asdict(last) if last else None},
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

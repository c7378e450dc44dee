"""`Idempotency-Key`: a write that is sent twice is done once and answered twice, the same."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from controlplane.accounts import selectors
from controlplane.accounts.models import IdempotentRequest, User
from controlplane.accounts.projects import memberships_of
from controlplane.accounts.types import TOKEN_PREFIX
from controlplane.core import vault
from controlplane.core.http import problem_response

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
PURPOSE: Final = "shoal idempotent answers"
KEPT: Final = timedelta(hours=24)
LONGEST_RUN: Final = timedelta(minutes=2)  # whoever took longer has died
LONGEST_KEY: Final = 255
LARGEST_BODY: Final = 2**20
HEADERS: Final = ("Content-Type", "Location", "Operation-Location", "ETag", "Retry-After")


class IdempotencyMiddleware:
    """Answers below 500 are kept for a day per user and key, sealed: some hold keys in clear.

    What has ``is_kept`` False is not, such as values of clients, whose data goes when its file
    does: a write that is sent twice is done twice then, and must do no harm by it.

    They are given before anybody is asked for permission, and so only to who has the rights that
    they were made with.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = request.headers.get(HEADER)
        if key is None or request.method not in METHODS or not _is_ours(request):
            return self.get_response(request)
        if not key.strip() or len(key) > LONGEST_KEY or not key.isprintable():
            return _problem(
                request, 400, "BadArgument", f"{HEADER} must be 1 to {LONGEST_KEY} characters."
            )
        user, scopes = _user(request)
        if user is None:  # the view will say so
            return self.get_response(request)
        digest = _digest(request, user, scopes)
        row, mine = _claim(user, key, digest)
        if not mine:
            return _known(request, row, digest)
        response = self.get_response(request)
        _keep(row, response)
        return response


def _is_ours(request: HttpRequest) -> bool:
    """Bytes of uploads are not: they have offsets."""
    if not request.path.startswith("/api/v1/"):
        return False
    plain = request.content_type in ("", "application/json", "text/plain")
    return plain and int(request.headers.get("Content-Length") or 0) <= LARGEST_BODY


def _user(request: HttpRequest) -> tuple[User | None, list[str]]:
    """Whose request it is, and the scopes of the token; none: all that the user may."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme:
        clear = value.strip()
        token = selectors.token_get(clear) if clear.startswith(TOKEN_PREFIX) else None
        return (token.user, sorted(token.scopes)) if token is not None else (None, [])
    user = getattr(request, "user", None)
    return (user if isinstance(user, User) else None), []


def _digest(request: HttpRequest, user: User, scopes: list[str]) -> str:
    held = memberships_of(user).values_list("project_id", "role")
    rights = (str(user.role), " ".join(scopes), " ".join(f"{name}={role}" for name, role in held))
    asked = (request.method or "", request.get_full_path(), request.body.decode("latin-1"))
    parts = (*rights, *asked)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _claim(user: User, key: str, digest: str) -> tuple[IdempotentRequest, bool]:
    """The row for this key, and whether the request is ours to carry out."""
    now = timezone.now()
    rows = IdempotentRequest.objects.filter(user=user, key=key)
    rows.filter(created_at__lt=now - KEPT).delete()
    try:
        with transaction.atomic():
            return IdempotentRequest.objects.create(user=user, key=key, digest=digest), True
    except IntegrityError:
        row = rows.first()
    if row is None:  # it ended in between
        return _claim(user, key, digest)
    dead = not row.status and row.updated_at < now - LONGEST_RUN and row.digest == digest
    if dead and rows.filter(updated_at=row.updated_at, status=0).update(updated_at=now):
        return row, True
    return row, False


def _known(request: HttpRequest, row: IdempotentRequest, digest: str) -> HttpResponse:
    if row.digest != digest:
        return _problem(
            request,
            422,
            "IdempotencyKeyReused",
            f"This {HEADER} was used for another request.",
            "Make a new key for every request, and keep it only for sending that one again.",
        )
    if not row.status:
        answer = _problem(
            request, 409, "OperationInProgress", "The same request is being carried out.",
            "Send it again in a second: you get its answer.",
        )  # fmt: skip
        answer["Retry-After"] = "1"
        return answer
    kept = json.loads(vault.unseal(PURPOSE, row.answer))
    response = HttpResponse(kept["body"].encode("latin-1"), status=row.status)
    for name, value in kept["headers"].items():
        response[name] = value
    response[REPLAYED] = "true"
    return response


def _keep(row: IdempotentRequest, response: HttpResponse) -> None:
    unkept = response.streaming or not getattr(response, "is_kept", True)
    if unkept or response.status_code >= 500 or len(response.content) > LARGEST_BODY:
        row.delete()
        return
    kept = {
        "body": response.content.decode("latin-1"),
        "headers": {name: response[name] for name in HEADERS if name in response},
    }
    IdempotentRequest.objects.filter(pk=row.pk).update(
        status=response.status_code, answer=vault.seal(PURPOSE, json.dumps(kept))
    )


def _problem(
    request: HttpRequest, status: int, code: str, detail: str, *hints: str
) -> HttpResponse:
    return problem_response(status, code=code, detail=detail, instance=request.path, hints=hints)


def answers_prune() -> int:
    """Forget answers older than a day. Returns how many."""
    old = timezone.now() - KEPT
    return IdempotentRequest.objects.filter(created_at__lt=old).delete()[0]

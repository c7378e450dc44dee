"""``?dry_run=true``: a change is made and all of it undone, which tells whether it is accepted."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.core.requests import flag

ViewT = TypeVar("ViewT", bound=Callable[..., Any])

DRY_RUN = OpenApiParameter(
    "dry_run",
    bool,
    description="ask whether it would be accepted, and change nothing: 204, or the refusal",
)
ONLY_ASKED = {204: OpenApiResponse(description="it would be accepted (`dry_run`)")}


def rehearsable(view: ViewT) -> ViewT:
    """With ``?dry_run=true`` the view does all that it does, and then all of it is undone."""

    @wraps(view)
    def rehearsed(self: APIView, request: Request, *args: str, **kwargs: str) -> Response:
        if not flag(request, "dry_run"):
            done: Response = view(self, request, *args, **kwargs)
            return done
        with transaction.atomic():
            view(self, request, *args, **kwargs)
            transaction.set_rollback(True)
        return Response(status=status.HTTP_204_NO_CONTENT)

    return cast(ViewT, rehearsed)

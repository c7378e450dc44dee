"""Answering when something has ended, without holding a thread or a connection meanwhile."""

import asyncio
import math
import time
from collections.abc import Callable, Collection
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework import status
from rest_framework.views import APIView

from controlplane.core.borrowed import give_back
from controlplane.core.errors import Invalid
from controlplane.core.validation_messages import MOST_SHOWN

LONGEST_WAIT_S = 60.0
LOOK_EVERY_S = 0.25
WAIT = OpenApiParameter(
    "wait",
    float,
    description="answer when it has ended, or after so many seconds (at most "
    f"{LONGEST_WAIT_S:.0f})",
)

State = Callable[[str], tuple[Any, ...] | None]


def or_wait(kind: type[APIView], *, key: str, state: State, active: Collection[str]) -> Any:
    """``kind`` as a view; with ``?wait=`` it is asked a second time once ``state`` is not
    ``active`` any more. ``key`` names the part of the path that ``state`` is asked for."""
    view = sync_to_async(_giving_back(kind.as_view()))
    look = sync_to_async(_giving_back(state))

    async def waiting(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        wait_s = _wait_s(request) if request.method == "GET" else 0.0
        response: HttpResponseBase = await view(request, **kwargs)
        if response.status_code != status.HTTP_200_OK or wait_s <= 0:
            return response
        until = time.monotonic() + wait_s
        while time.monotonic() < until:
            found = await look(kwargs[key])
            if found is None or found[0] not in active:
                break
            await asyncio.sleep(LOOK_EVERY_S)
        again: HttpResponseBase = await view(request, **kwargs)
        return again

    # What the OpenAPI document looks for on a view.
    waiting.cls = kind  # type: ignore[attr-defined]
    waiting.initkwargs = {}  # type: ignore[attr-defined]
    waiting.csrf_exempt = True  # type: ignore[attr-defined] # DRF checks by itself
    return waiting


def _giving_back(ask: Callable[..., Any]) -> Callable[..., Any]:
    """What it borrowed of a database's connections is free as soon as it has answered."""

    def asked(*arguments: Any, **named: Any) -> Any:
        try:
            return ask(*arguments, **named)
        finally:
            give_back()

    return asked


def _wait_s(request: HttpRequest) -> float:
    """Raises Invalid."""
    text = request.GET.get("wait", "0")
    try:
        wait_s = float(text)
    except ValueError:
        wait_s = math.nan
    if not 0 <= wait_s < math.inf:
        raise Invalid(
            f"wait: {text[:MOST_SHOWN]!r}, expected seconds from 0 to {LONGEST_WAIT_S:.0f}.",
            field="wait",
            hints=("`?wait=30`, and again with the same until it has ended.",),
        )
    return min(wait_s, LONGEST_WAIT_S)

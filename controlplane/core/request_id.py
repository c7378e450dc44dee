"""Every answer bears a number of our own, so that what a caller saw can be found in the logs."""

import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from django.http import HttpRequest, HttpResponse

HEADER: Final = "X-Request-Id"
_current: ContextVar[str] = ContextVar("request_id", default="")


class RequestIdMiddleware:
    """Makes the number, and writes it on the answer. A caller's own is not taken over: it may not
    be unique, and it would be written into our logs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        number = str(uuid.uuid4())
        token = _current.set(number)
        try:
            response = self.get_response(request)
        finally:
            _current.reset(token)
        response.headers[HEADER] = number
        return response


def request_id() -> str | None:
    """Of the request that is being answered; None outside of one."""
    return _current.get() or None

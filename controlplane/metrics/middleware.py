"""Counts every request of the control plane by its route."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from controlplane.metrics import totals

Answer = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def count_requests(get_response: Answer) -> Answer:
    if iscoroutinefunction(get_response):

        async def counted_async(request: HttpRequest) -> HttpResponseBase:
            began = time.perf_counter()
            answering: Awaitable[HttpResponseBase] = get_response(request)
            response = await answering
            _count(request, response, time.perf_counter() - began)
            return response

        return counted_async

    def counted(request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response: HttpResponseBase = get_response(request)
        _count(request, response, time.perf_counter() - began)
        return response

    return counted


def _count(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    match = request.resolver_match
    # why: paths that lead nowhere are without number, one name must do for them
    route = match.route if match is not None and response.status_code != 404 else "(none)"
    method = request.method or ""
    totals.REQUESTS.labels(method, route, str(response.status_code)).observe(seconds)

"""Connections that a pool lends: given back by who holds one and does not need it for a while."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware


def pooled(connection: BaseDatabaseWrapper) -> bool:
    return bool(connection.settings_dict["OPTIONS"].get("pool"))


def give_back() -> None:
    """Those of this thread, but one in a transaction. The next query borrows another."""
    for connection in connections.all(initialized_only=True):
        if pooled(connection) and not connection.in_atomic_block:
            connection.close()


@sync_and_async_middleware
def give_back_before_streaming(get_response: Callable[[HttpRequest], Any]) -> Callable[..., Any]:
    """Django keeps a request's connections until its last byte is sent. A few nodes that download
    would keep all of the pool for minutes."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = await get_response(request)
            if response.streaming:
                # why: connections belong to threads, and this goes to the request's own
                await sync_to_async(give_back)()
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = get_response(request)
        if response.streaming:
            give_back()
        return response

    return synchronous

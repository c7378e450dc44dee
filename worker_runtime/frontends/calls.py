"""Calls that are not inference, in a front end: handed on to the core, answered when it answers."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

from worker_runtime.errors import Unavailable
from worker_runtime.frontends.messages import GrpcCall, GrpcReply, HttpCall, HttpReply, fault_of
from worker_runtime.frontends.remote import CORE_GONE
from worker_runtime.protocols.grpc.simple import Query
from worker_runtime.protocols.grpc.transport import Message
from worker_runtime.protocols.http.admin import Handler
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.routes import Route
from worker_runtime.types.listening import Category


class _Raw:
    """A message of gRPC as it is: who answers reads it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @classmethod
    def FromString(cls, data: Any) -> bytes:  # as protobuf's messages have it
        return bytes(data)

    def SerializeToString(self) -> bytes:
        return self._data


class Calls:
    """``say`` sends a message to the core."""

    def __init__(self, say: Callable[[Any], None]) -> None:
        self._say = say
        self._numbers = count(1)
        self._http: dict[int, Connection] = {}
        self._grpc: dict[int, asyncio.Future[bytes]] = {}
        self._lost = False

    def handlers(self, kinds: list[str]) -> dict[str, Handler]:
        return dict.fromkeys(kinds, self._call)

    def queries(self, categories: dict[str, str]) -> dict[str, Query]:
        asking = {path: self._asking(path) for path in categories}
        return {
            path: Query(_Raw, Category(category), asking[path], asking[path])
            for path, category in categories.items()
        }

    def _call(self, connection: Connection, head: Head, _route: Route, body: Any) -> None:
        if self._lost:
            raise Unavailable(CORE_GONE)
        number = next(self._numbers)
        self._http[number] = connection
        self._say(
            HttpCall(number, head.method, head.path, head.query, head.headers, bytes(body or b""))
        )

    def _asking(self, path: str) -> Callable[[Message], Any]:
        async def ask(message: Message) -> _Raw:
            if self._lost:
                raise Unavailable(CORE_GONE)
            number = next(self._numbers)
            answer = self._grpc[number] = asyncio.get_running_loop().create_future()
            self._say(GrpcCall(number, path, bytes(message)))
            return _Raw(await answer)

        return ask

    def http(self, reply: HttpReply) -> None:
        connection = self._http.pop(reply.number)
        connection.reply(
            reply.status, reply.body, content_type=reply.content_type, headers=reply.headers
        )

    def grpc(self, reply: GrpcReply) -> None:
        answer = self._grpc.pop(reply.number)
        if answer.done():
            return
        if reply.fault is not None:
            answer.set_exception(fault_of(reply.fault))
        else:
            answer.set_result(reply.message)

    def lose(self) -> None:
        """The core has gone."""
        self._lost = True
        waiting, self._http = self._http, {}
        for connection in waiting.values():
            connection.fail_with(Unavailable(CORE_GONE))
        asked, self._grpc = self._grpc, {}
        for answer in asked.values():
            if not answer.done():
                answer.set_exception(Unavailable(CORE_GONE))

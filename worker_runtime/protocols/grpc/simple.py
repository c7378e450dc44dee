"""The RPCs that are a question and an answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from worker_runtime.errors import Internal, InvalidArgument
from worker_runtime.protocols.grpc.requests import parsed
from worker_runtime.protocols.grpc.status import as_fault, status_of
from worker_runtime.protocols.grpc.transport import Call, Message
from worker_runtime.types.listening import Category

MOST_BYTES = 128 * 1024  # of a message that protobuf reads in one piece


class Query(NamedTuple):
    """``answer`` makes the reply to a message of type ``kind``; it may be a coroutine function.

    ``large`` does so for one of more than ``MOST_BYTES``, which are refused without it. Errors are
    RuntimeFaults.
    """

    kind: Any
    category: Category
    answer: Callable[[Any], Any | Awaitable[Any]]
    large: Callable[[Message], Awaitable[Any]] | None = None

    def answered(self, data: Message) -> Any | Awaitable[Any]:
        """The reply to a message, or an awaitable of it. Raises a RuntimeFault."""
        if self.large is not None and len(data) > MOST_BYTES:
            return self.large(data)
        return self.answer(self.read(data))

    def read(self, data: Message) -> Any:
        """A message of ``kind``. Raises InvalidArgument when it is none, or too large."""
        if len(data) > MOST_BYTES:
            raise InvalidArgument(
                f"the {self.kind.DESCRIPTOR.name} has {len(data)} bytes, expected at most "
                f"{MOST_BYTES}"
            )
        return parsed(self.kind, data)


class Written(NamedTuple):
    """A reply that is serialised already."""

    data: bytes

    def SerializeToString(self) -> bytes:  # as protobuf's messages have it
        return self.data


class QueryHandler:
    """One call of a query."""

    __slots__ = ("_call", "_query", "_seen")

    def __init__(self, query: Query, call: Call) -> None:
        self._query = query
        self._call: Call | None = call
        self._seen = False

    @property
    def expects(self) -> bool:
        return not self._seen

    def message(self, data: Message) -> None:
        if self._seen:
            if self._call is not None:
                self._call.pause()  # a unary call has one message; a further one means nothing
            return
        self._seen = True
        try:
            reply = self._query.answered(data)
        except Exception as error:  # why so wide: a call must end, whatever happened
            self._fail(error)
            return
        if asyncio.iscoroutine(reply):
            # why kept and never cancelled: a load goes on when its client has gone.
            task = asyncio.get_running_loop().create_task(reply)
            _RUNNING.add(task)
            task.add_done_callback(self._done)
        else:
            self._reply(reply)

    def half_close(self) -> None:
        if not self._seen:
            self._fail(Internal("the call ended without a message"))

    def cancel(self) -> None:
        self._call = None

    def drained(self) -> None:
        return

    def _done(self, task: "asyncio.Task[Any]") -> None:
        _RUNNING.discard(task)
        if task.cancelled():
            self._fail(Internal("the server is going away"))
        elif (error := task.exception()) is not None:
            self._fail(error)
        else:
            self._reply(task.result())

    def _reply(self, reply: Any) -> None:
        if self._call is not None:
            data = reply.SerializeToString()
            self._call.answer([data], len(data))

    def _fail(self, error: BaseException) -> None:
        fault = as_fault(error) if isinstance(error, Exception) else error
        if self._call is not None:
            self._call.finish(status_of(fault), str(fault))


_RUNNING: set["asyncio.Task[Any]"] = set()

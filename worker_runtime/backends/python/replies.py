"""Answers of other models on their way to the process of the model that called them."""

import logging
import threading
from queue import SimpleQueue

from worker_runtime.backends.base import Array
from worker_runtime.backends.python.messages import response_message
from worker_runtime.backends.python.process import Message, StubProcess
from worker_runtime.backends.python.stub.shoal_stub.channel import Closed
from worker_runtime.errors import BackendFailed
from worker_runtime.types.request import Response

logger = logging.getLogger(__name__)
_AT_ONCE_BYTES = 64 * 2**10  # of tensors; copying more would hold the event loop up
_AT_ONCE_TEXTS = 256

_Waiting = tuple[int, Response | None, bool]  # call, answer, whether it is the last


class Replies:
    """Sends them in their order, and never waits: whoever does not read holds up a thread only."""

    def __init__(self, model: str, process: StubProcess) -> None:
        self._model = model
        self._channel = process.channel
        self._waiting: SimpleQueue[_Waiting | Message | None] = SimpleQueue()
        self._count = 0  # of those that wait, the one that is being written included
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closed = False

    def send(self, number: int, response: Response | None, *, final: bool) -> None:
        """Called in the event loop, or in the thread that receives the process's messages."""
        with self._lock:
            if self._closed:
                return
            reply: _Waiting | Message = (number, response, final)
            if not self._count and (response is None or _is_small(response)):
                reply = self._message(number, response, final=final)
                if self._sent_at_once(reply):
                    return
            self._count += 1
            self._waiting.put(reply)
            if self._writer is None:
                name = f"{self._model}-replies"
                self._writer = threading.Thread(target=self._write_all, name=name, daemon=True)
                self._writer.start()

    def close(self) -> None:
        """The process is gone: what waits is dropped."""
        with self._lock:
            self._closed = True
        self._waiting.put(None)

    def _sent_at_once(self, message: Message) -> bool:
        try:
            return self._channel.try_send(message)
        except Closed:
            return True  # whoever reads its messages finds out, too

    def _write_all(self) -> None:
        while (reply := self._waiting.get()) is not None:
            if self._closed:
                continue
            try:
                if isinstance(reply, tuple):
                    number, response, final = reply
                    reply = self._message(number, response, final=final)
                    del response  # why: clients and models want its memory back
                self._channel.send(reply)
            except Closed:
                logger.debug("an answer came after model %s had ended", self._model)
            with self._lock:
                self._count -= 1

    def _message(self, number: int, response: Response | None, *, final: bool) -> Message:
        arena = self._channel.arena
        try:
            data = response_message(response, arena)
        except Exception as error:  # why so wide: the model waits for an answer, whatever it is
            logger.warning("model %s cannot be given an answer: %s", self._model, error)
            data = response_message(Response(error=BackendFailed(str(error))), arena)
        return {"op": "reply", "call": number, "final": final, "response": data}


def _is_small(response: Response) -> bool:
    return sum(map(_bytes, response.arrays)) <= _AT_ONCE_BYTES


def _bytes(array: Array) -> int:
    if array.dtype != object:
        return array.nbytes
    if array.size > _AT_ONCE_TEXTS:
        return _AT_ONCE_BYTES + 1
    return sum(len(item) for item in array.flat if isinstance(item, bytes | str))

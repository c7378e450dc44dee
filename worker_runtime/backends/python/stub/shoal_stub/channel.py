"""Messages between a server and the process of a model, over a socket that keeps boundaries.

A model's process writes JSON; what the server writes, marshal reads faster, which a server must
not do with what a model writes.
The socket is also how each side learns that the other is gone. New memory segments travel beside
the messages as descriptors; what is too long for the socket travels in the memory itself.
"""

import array
import json
import select
import socket
import threading
from typing import Any, Callable, Optional, Sequence

from .memory import Arena, Window

_MAX_DIRECT = 100_000  # bytes; Linux allows about 200 KB in one packet by default
_MAX_FDS = 64
_SOCKET_BYTES = 4 << 20
_ANCILLARY = socket.CMSG_SPACE(_MAX_FDS * 4)

Dump = Callable[[Any], bytes]
Load = Callable[[bytes], Any]


_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def dumps(message: Any) -> bytes:
    return _encode(message).encode()


class Closed(Exception):
    """The other side is gone."""


class Channel:
    """Both directions. Any thread may send; one thread receives."""

    def __init__(
        self, connection: socket.socket, dump: Dump = dumps, load: Load = json.loads, limit: int = 0
    ) -> None:
        self._socket = connection
        self._dump = dump
        self._load = load
        self._lock = threading.Lock()
        self._buffer = memoryview(bytearray(2 * _MAX_DIRECT))
        self.arena = Arena(limit)
        self.window = Window()
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BYTES)
        self._room = select.poll()
        self._room.register(connection, select.POLLOUT)

    def send(self, message: "dict[str, Any]") -> None:
        """Raises Closed when the other side is gone."""
        with self._lock:
            freed = self.window.take_released()
            if freed:
                message["freed"] = freed
            data = self._dump(message)
            if len(data) > _MAX_DIRECT:
                data = self._dump({"large": self.arena.put(data, len(data))})
            arena = self.arena
            fresh: list[tuple[int, int, int]] = []
            if arena.fresh or arena.gone:
                fresh, arena.fresh = arena.fresh, []
                gone, arena.gone = arena.gone, []
                extra = {"segments": [[n, size] for n, _, size in fresh], "gone": gone}
                self._write(self._dump(extra), [fd for _, fd, _ in fresh])
            self._write(data, [])

    def try_send(self, message: "dict[str, Any]") -> bool:
        """``send`` where it cannot wait; False, with nothing sent, where it might.

        Raises Closed when the other side is gone.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            # why not with new segments: they are a message of their own, and two may not fit
            if self.arena.fresh or self.arena.gone or not self._room.poll(0):
                return False
            freed = self.window.take_released()
            data = self._dump({**message, "freed": freed} if freed else message)
            if len(data) > _MAX_DIRECT:
                self.window.released.extend(freed or ())
                return False
            self._write(data, [])
            return True
        finally:
            self._lock.release()

    def _write(self, data: bytes, descriptors: "list[int]") -> None:
        ancillary = []
        if descriptors:
            packed = array.array("i", descriptors)
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)]
        try:
            if ancillary:
                self._socket.sendmsg([data], ancillary)
            else:
                self._socket.send(data)
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self) -> "dict[str, Any]":
        """The next message (blocking). Raises Closed."""
        while True:
            message, descriptors = self._read()
            segments = message.get("segments")
            if segments is not None:
                self.window.drop(message["gone"])
                for (number, size), fd in zip(segments, descriptors):
                    self.window.add(number, fd, size)
                continue
            large = message.get("large")
            if large is not None:
                block = (large[0], large[1], large[2])
                message = self._load(self.window.look(block).tobytes())
            freed = message.get("freed")
            if freed:
                self.arena.free(freed)
            return message

    def _read(self) -> "tuple[dict[str, Any], Sequence[int]]":
        try:
            size, ancillary, _flags, _ = self._socket.recvmsg_into([self._buffer], _ANCILLARY)
        except OSError as error:
            raise Closed(str(error)) from error
        if not size:
            raise Closed("the other side closed the connection")
        data = self._buffer[:size].tobytes()
        if not ancillary:
            return self._load(data), ()
        descriptors: Optional[array.array[int]] = None
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(payload[: len(payload) - len(payload) % 4])
        return self._load(data), descriptors or ()

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()
        self.arena.close()
        self.window.close()

"""What is left of a large DATA frame, read straight into the memory of its message."""

from typing import Any, Protocol

from worker_runtime.protocols.grpc.native.reader import FrameReader
from worker_runtime.protocols.into_memory import IntoMemory

_SCRATCH = 64 * 1024


class Receiver(Protocol):
    """The connection that is read for."""

    def data_received(self, data: bytes) -> None: ...

    def large_data_received(self, data: memoryview) -> None:
        """More of the frame that ``message_room`` was asked for."""
        ...

    def message_room(self, stream: int, size: int) -> memoryview | None:
        """Memory for the next ``size`` bytes of DATA, and perhaps for the head behind them."""
        ...

    def connection_lost(self, exc: Exception | None) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...


class LargeFrames:
    """Of one connection. ``begin`` is called whenever much of a frame is still to come."""

    __slots__ = ("_reader", "_reading", "_receiver", "_transport")

    def __init__(self, receiver: Receiver, reader: FrameReader, transport: Any) -> None:
        self._receiver = receiver
        self._reader = reader
        self._transport = transport
        self._reading = False

    def begin(self) -> None:
        """Read the rest of the frame straight into its message, if there is one."""
        if not self._reading and self._message_room() is not None:
            self._reading = True
            IntoMemory(self, self._transport)

    def room(self) -> memoryview:
        """Where the frame goes on."""
        room = self._message_room()
        # why others: its call may have ended since.
        return memoryview(bytearray(_SCRATCH)) if room is None else room

    def filled(self, piece: memoryview) -> None:
        """More of the frame was read; behind it the next may have begun."""
        left = self._reader.left
        behind = bytes(piece[left:])  # why first: what is behind is in the message's memory, too
        self._receiver.large_data_received(piece[:left])
        if behind:
            self._receiver.data_received(behind)
        if not self._reader.left or self._message_room() is None:
            self._reading = False
            self._transport.set_protocol(self._receiver)

    def connection_lost(self, exc: Exception | None) -> None:
        self._receiver.connection_lost(exc)

    def pause_writing(self) -> None:
        self._receiver.pause_writing()

    def resume_writing(self) -> None:
        self._receiver.resume_writing()

    def _message_room(self) -> memoryview | None:
        return self._receiver.message_room(self._reader.stream, self._reader.left)

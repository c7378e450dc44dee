"""DATA to whole messages, however it is cut."""

from collections import deque

import numpy as np

from worker_runtime.protocols.grpc.native.frames import HEAD_BYTES, ErrorCode, StreamFault
from worker_runtime.protocols.grpc.native.messages import (
    AT_ONCE,
    INTERNAL,
    MAX_MESSAGE_BYTES,
    PREFIX,
    PREFIX_BYTES,
    RESOURCE_EXHAUSTED,
    Inbox,
    MessageFault,
    Packed,
)
from worker_runtime.protocols.grpc.transport import Message

_SMALL = 16 * 1024  # slices of bytes of that size are cheaper than views
# Memory for a message is given as its bytes come, whatever its prefix promises: at first this much,
# then the largest frame and a little, then all. More than is written to costs next to nothing, but
# for large pages, of which each first byte takes a whole one.
_STEPS = (64 * 1024, 1024 * 1024 + 4096)
_NONE = memoryview(b"")


class Assembler:
    """Turns the DATA of one stream into messages. ``limit``: of what they may unpack to.

    What is given to it is copied once, into the memory of its message; nothing of what was read
    into its ``room``.
    """

    __slots__ = (
        "_at",
        "_encoding",
        "_have",
        "_limit",
        "_memory",
        "_packed",
        "_prefix",
        "_uncut",
        "_want",
        "inbox",
    )

    def __init__(self, encoding: str, limit: int) -> None:
        self.inbox: Inbox | None = None  # where messages go that may be compressed
        self._encoding = encoding
        self._limit = limit
        self._prefix = b""
        self._memory = _NONE  # of the message, or of its front
        self._have = 0  # bytes of the message
        self._want = -1  # all its bytes, once its prefix is there
        self._packed = False
        self._uncut: deque[bytes] = deque()  # behind a whole message: many others, mostly
        self._at = 0  # what of the first is cut already

    @property
    def uncut(self) -> bool:
        """There may be more messages in what has come than ``feed`` has found."""
        return bool(self._uncut)

    @property
    def empty(self) -> bool:
        """Nothing of a further message has arrived."""
        return self._want < 0 and not self._prefix and not self._uncut

    @property
    def arrived(self) -> int:
        """Bytes of the message that is not complete, with its prefix."""
        return self._have + len(self._prefix) + (PREFIX_BYTES if self._want >= 0 else 0)

    def end(self) -> None:
        """The client has sent everything. Raises StreamFault when it had said otherwise."""

    def feed(self, data: Message) -> list[Message | Packed]:
        """The messages that ``data`` completes, the first ``AT_ONCE``. Raises MessageFault."""
        if self._uncut:
            self._uncut.append(bytes(data))
            return []
        found: list[Message | Packed] = []
        at = self._cut(data, 0, found)
        if at < len(data):
            self._uncut.append(bytes(data[at:]))  # why a copy: a view would keep all that was read
        return found

    def more(self) -> list[Message | Packed]:
        """The next ``AT_ONCE`` of those that ``feed`` left. Raises MessageFault."""
        found: list[Message | Packed] = []
        while self._uncut and len(found) < AT_ONCE:
            self._at = self._cut(self._uncut[0], self._at, found)
            if self._at == len(self._uncut[0]):
                self._uncut.popleft()
                self._at = 0
        return found

    def drop(self) -> None:
        """What is left is not wanted."""
        self._uncut.clear()
        self._at = 0

    def _cut(self, data: Message, at: int, found: list[Message | Packed]) -> int:
        """Add messages to ``found`` until there are enough, or no more; where the rest begins."""
        while len(found) < AT_ONCE:
            if self._want < 0:
                at = self._look(data, at)
                if self._want < 0:
                    return at
            stop = at + self._want - self._have
            if self._have or stop > len(data) or self._want > _SMALL:
                if at < len(data):
                    self._add(data[at:stop])
                if self._have < self._want:
                    return len(data)
                message = self._taken()
            else:
                message = bytes(data[at:stop])
            found.append(Packed(message) if self._packed else message)
            self._have, self._want, at = 0, -1, stop
        return at

    def room(self, size: int) -> memoryview | None:
        """Memory for up to ``size`` bytes of DATA, and for what stands in front of the next.

        What is read into it need only be fed. None when no message is under way, or when it ends
        in these bytes and others follow. Raises MessageFault.
        """
        rest = self._want - self._have
        if rest < size:
            return None
        if self._have == len(self._memory):
            self._grow(self._have + 1)
        size += HEAD_BYTES if rest >= size + HEAD_BYTES else 0
        return self._memory[self._have : self._have + size]

    def _look(self, data: Message, at: int) -> int:
        """Read a prefix at ``at``, as far as it is there; where the message begins."""
        taken = at + PREFIX_BYTES - len(self._prefix)
        prefix = self._prefix + bytes(data[at:taken])
        if len(prefix) < PREFIX_BYTES:
            self._prefix = prefix
            return len(data)
        self._prefix = b""
        compressed, size = PREFIX.unpack(prefix)
        if compressed > 1:
            raise MessageFault(INTERNAL, f"the message has the unknown flag {compressed}")
        if compressed and self._encoding == "identity":
            raise MessageFault(INTERNAL, "a compressed message, but no grpc-encoding says how")
        # why a little more: what cannot be compressed grows by a few bytes in each 16 KiB.
        most = self._limit + self._limit // 1024 + 64 if compressed else MAX_MESSAGE_BYTES
        if size > most:
            raise MessageFault(
                RESOURCE_EXHAUSTED, f"Received message larger than max ({size} vs. {most})"
            )
        self._want, self._packed = size, bool(compressed)
        return taken

    def _add(self, piece: Message) -> None:
        have = self._have + len(piece)
        if have > len(self._memory):
            self._grow(have)
        if not isinstance(piece, memoryview) or piece.obj is not self._memory.obj:
            self._memory[self._have : have] = piece
        self._have = have

    def _grow(self, have: int) -> None:
        """Make room for ``have`` bytes. Raises MessageFault."""
        size = min(self._want, next((step for step in _STEPS if have <= step), self._want))
        try:
            # why numpy: it does not clear the memory first, and asks for large pages.
            memory = np.empty(size, np.uint8).data
        except MemoryError as error:
            text = f"there is no memory for a message of {size} bytes"
            raise MessageFault(RESOURCE_EXHAUSTED, text) from error
        memory[: self._have] = self._memory[: self._have]
        self._memory = memory

    def _taken(self) -> Message:
        """The message; its memory is its own from now on."""
        message, self._memory = self._memory, _NONE
        return bytes(message) if len(message) < _SMALL else message


class MeasuredAssembler(Assembler):
    """Of a request that has said how many bytes it has: ``size`` on ``stream``."""

    __slots__ = ("_left", "_stream")

    def __init__(self, encoding: str, limit: int, stream: int, size: int) -> None:
        super().__init__(encoding, limit)
        self._stream = stream
        self._left = size

    def feed(self, data: Message) -> list[Message | Packed]:
        """Raises MessageFault, and StreamFault for bytes that are too many."""
        self._left -= len(data)
        if self._left < 0:
            raise StreamFault(self._stream, ErrorCode.PROTOCOL_ERROR)
        return super().feed(data)

    def end(self) -> None:
        if self._left:
            raise StreamFault(self._stream, ErrorCode.PROTOCOL_ERROR)

"""DATA to whole messages, however it is cut."""

from worker_runtime.protocols.grpc.native.inbox import Inbox
from worker_runtime.protocols.grpc.native.messages import (
    INTERNAL,
    MAX_MESSAGE_BYTES,
    PREFIX,
    PREFIX_BYTES,
    RESOURCE_EXHAUSTED,
    MessageFault,
    Packed,
)

_SMALL_PIECE = 1024


class Assembler:
    """Turns the DATA of one stream into messages. ``limit``: of what they may unpack to."""

    __slots__ = ("_encoding", "_have", "_limit", "_packed", "_parts", "_prefix", "_want", "inbox")

    def __init__(self, encoding: str, limit: int) -> None:
        self.inbox: Inbox | None = None  # where messages go that may be compressed
        self._encoding = encoding
        self._limit = limit
        self._prefix = b""
        self._parts: list[bytes | bytearray] = []
        self._have = 0
        self._want = -1  # bytes of the message, once its prefix is there
        self._packed = False

    @property
    def empty(self) -> bool:
        """Nothing of a further message has arrived."""
        return self._want < 0 and not self._prefix

    def feed(self, data: bytes) -> list[bytes | Packed]:
        """The messages that ``data`` completes. Raises MessageFault."""
        found: list[bytes | Packed] = []
        at = 0
        while True:
            if self._want < 0:
                at = self._look(data, at)
                if self._want < 0:
                    return found
            stop = at + self._want - self._have
            piece = data[at:stop]
            self._have += len(piece)
            if self._have < self._want:
                self._keep(piece)
                return found
            message = b"".join((*self._parts, piece)) if self._parts else piece
            found.append(Packed(message) if self._packed else message)
            self._parts = []
            self._have, self._want, at = 0, -1, stop

    def _look(self, data: bytes, at: int) -> int:
        """Read a prefix at ``at``, as far as it is there; where the message begins."""
        taken = at + PREFIX_BYTES - len(self._prefix)
        prefix = self._prefix + data[at:taken]
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

    def _keep(self, piece: bytes) -> None:
        """Hold a piece; small ones together, as an object of its own is larger than they are."""
        if len(piece) >= _SMALL_PIECE:
            self._parts.append(piece)
        elif self._parts and isinstance(tail := self._parts[-1], bytearray):
            tail += piece
        else:
            self._parts.append(bytearray(piece))

"""A TCP proxy on loopback that breaks connections in the middle of what they carry."""

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

PIECE_BYTES = 1 << 16


@dataclass
class CuttingProxy:
    """The first ``cuts`` connections that carry ``after`` bytes to the server end there."""

    target: tuple[str, int]
    cuts: int
    after: int
    done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self.target)
                for ends, counted in (((client, server), True), ((server, client), False)):
                    threading.Thread(target=self._carry, args=(*ends, counted), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        carried = 0
        with suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                carried += len(piece)
                if counted and carried > self.after and self._cut():
                    break
                sink.sendall(piece)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _cut(self) -> bool:
        with self._lock:
            if self.done >= self.cuts:
                return False
            self.done += 1
            return True

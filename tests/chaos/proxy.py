"""A network cable between two programs that a test can pull, and make slow."""

import contextlib
import selectors
import socket
import threading
import time

CHUNK = 1 << 14
TICK_S = 0.05


class Cable:
    """Forwards TCP from a port of its own to ``target``. Works without any privilege.

    ``cut`` breaks what flows and lets nothing new through (connections are refused after they
    were accepted, as behind a dead router); ``bytes_per_s`` slows each answer down.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self.bytes_per_s = 0.0  # 0: as fast as it goes
        self._whole = threading.Event()
        self._whole.set()
        self._closed = threading.Event()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._whole.clear()
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            _close(*pair)

    def heal(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._closed.set()
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                here, _ = self._listener.accept()
            except OSError:
                return  # closed
            if not self._whole.is_set():
                here.close()
                continue
            try:
                there = socket.create_connection(self._target, timeout=5)
            except OSError:
                here.close()  # nobody listens there: the caller sees a broken connection
                continue
            with self._lock:
                self._pairs.add((here, there))
            threading.Thread(target=self._pump, args=(here, there), daemon=True).start()

    def _pump(self, here: socket.socket, there: socket.socket) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(here, selectors.EVENT_READ, there)
            ready.register(there, selectors.EVENT_READ, here)
            with contextlib.suppress(OSError, ValueError):
                while self._whole.is_set():
                    for key, _ in ready.select(TICK_S):
                        source: socket.socket = key.fileobj  # type: ignore[assignment]
                        data = source.recv(CHUNK)
                        if not data:
                            raise OSError("the other side has hung up")
                        key.data.sendall(data)
                        if source is there and self.bytes_per_s:
                            time.sleep(len(data) / self.bytes_per_s)
        _close(here, there)
        with self._lock:
            self._pairs.discard((here, there))


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()

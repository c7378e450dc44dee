"""A proxy that ends TLS before an installation, as one has it in production."""

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from tests.support.certificates import certificate_authority

PIECE = 65536


class TlsProxy:
    """On a free port of 127.0.0.1; everything is passed on as it comes."""

    def __init__(self, folder: Path) -> None:
        authority = certificate_authority("tests/azure")
        self.authority = folder / "web-ca.pem"
        self.authority.write_text(authority.pem)
        self._context = authority.signs("127.0.0.1").context(folder)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def start(self, ahead: tuple[str, int]) -> None:
        self._ahead = ahead
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        with suppress(OSError):  # either side may leave at any time
            near = self._context.wrap_socket(raw, server_side=True)
            far = socket.create_connection(self._ahead)
            back = threading.Thread(target=_pass_on, args=(far, near), daemon=True)
            back.start()
            _pass_on(near, far)
            back.join()
            near.close()
            far.close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError, ssl.SSLError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)

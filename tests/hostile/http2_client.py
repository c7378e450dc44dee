"""A client of HTTP/2 on a socket that sends whatever bytes an attack likes."""

import re
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

import numpy as np
from tritonclient.grpc import service_pb2 as pb

from tests.support.http2_peer import framed
from tests.support.http2_raw import GREETING
from tests.support.http2_rules import END, WHOLE, Answer, Calls, Frame, frame, frames_in, headers
from tests.support.runtime_process import Runtime, wait_until
from worker_runtime.protocols.grpc.native import frames as f

_SERVICE = "/inference.GRPCInferenceService"
PATIENCE_S = 20.0
LITTLE = 64 * 1024  # of what is not read, for who wants to be seen not to read


def infer(model: str, size: int = 3) -> bytes:
    """A message that asks for ``size`` numbers back."""
    message = pb.ModelInferRequest(model_name=model)
    message.inputs.add(name="INPUT0", datatype="FP32", shape=[size])
    message.raw_input_contents.append(np.zeros(size, np.float32).tobytes())
    return framed(message.SerializeToString())


CALLS = Calls(
    streaming=f"{_SERVICE}/ModelStreamInfer",
    waiting=f"{_SERVICE}/ModelInfer",
    waiting_message=infer("slow"),
    asking=f"{_SERVICE}/ServerLive",
    asking_message=framed(b""),
)


def connect(port: int, keeps: int = 0) -> socket.socket:
    """The kernel ``keeps`` so many bytes of what is not read; 0: as many as it likes.

    It likes 4 MB, and in some moments all of 8 MB.
    """
    made = socket.socket()
    made.settimeout(PATIENCE_S)
    if keeps:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, keeps)
    try:
        made.connect(("127.0.0.1", port))
    except OSError:
        made.close()
        raise
    return made


def hung_up(connection: socket.socket) -> bool:
    """Wait until the other side has, without reading anything of what it said."""
    poll = select.poll()
    poll.register(connection, select.POLLERR | select.POLLHUP | select.POLLRDHUP)
    return bool(poll.poll(PATIENCE_S * 1000))


@contextmanager
def letting_go(server: Runtime, protocol: str, clients: Sequence[object]) -> Iterator[None]:
    """Until the server has given up these clients, who ask something within and read nothing.

    They are not told: what they do not read is in front of the end.
    """
    name = f'shoal_refusals_total{{protocol="{protocol}",reason="answers are not read"}}'

    def count() -> int:
        found = re.findall(rf"^{re.escape(name)} (\d+)", server.metrics(), re.MULTILINE)
        return int(found[0]) if found else 0

    # why before they ask: a slow machine may have given up the first while the last still asks
    before = count()
    yield
    wait_until(lambda: count() >= before + len(clients), "unread answers to be given up", 20)


class Client:
    def __init__(self, server: Runtime, start: bytes = GREETING, keeps: int = 0) -> None:
        self.socket = connect(server.grpc_port, keeps)
        self.streams = count(1, 2)
        self._said = b""
        self.socket.sendall(start)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """False when the server has hung up."""
        try:
            self.socket.sendall(data)
        except ConnectionError:
            return False
        return True

    def read(self, size: int = 65_536) -> bool:
        """Take what has come; False at the end."""
        try:
            data = self.socket.recv(size)
        except ConnectionError:
            return False
        self._said += data
        return bool(data)

    def answer(self, *, pongs: int = 0) -> Answer:
        """All that is said until the server hangs up, or has answered so many pings."""
        ended = False
        while not ended and (not pongs or Answer(self.frames, ended=False).pongs < pongs):
            ended = not self.read()
        return Answer(self.frames, ended)

    @property
    def frames(self) -> list[Frame]:
        return frames_in(self._said)

    def call(self, path: str, message: bytes, stream: int | None = None) -> bytes:
        """A whole call."""
        stream = next(self.streams) if stream is None else stream
        return headers(stream, CALLS.fields(path)) + b"".join(
            frame(f.DATA, stream, message[at : at + 16_384], END * (at + 16_384 >= len(message)))
            for at in range(0, len(message), 16_384)
        )

    def open(self) -> tuple[int, bytes]:
        stream = next(self.streams)
        return stream, headers(stream, CALLS.fields(), WHOLE)

"""The process of one Python model instance: started, talked to, watched, ended."""

import contextlib
import logging
import marshal
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from worker_runtime.backends.python.environment import process_environment
from worker_runtime.backends.python.stub.shoal_stub.channel import Channel, Closed

logger = logging.getLogger(__name__)
STUB = Path(__file__).parent / "stub"
_LAST_LINES = 20
_LONGEST_LINE = 8192  # bytes; what is longer is cut into pieces
_GRACE_S = 5.0
_ELSEWHERE_S = 0.05

Message = dict[str, Any]


def _dump(message: Any) -> bytes:
    """In the form that every Python 3 reads: models may bring another version."""
    return marshal.dumps(message, 2)


class Command(Struct, frozen=True):
    """How to start it. ``memory_bytes`` bounds its address space and ``shared_bytes`` its answers
    and requests in flight; 0 is no bound."""

    name: str
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 0
    shared_bytes: int = 0


class StubProcess:
    """``on_message`` is called in a thread of its own or in one that waits in ``read_until``.

    ``on_exit`` is called once, in its own thread.
    """

    def __init__(
        self,
        command: Command,
        on_message: Callable[[Message], None],
        on_exit: Callable[["StubProcess"], None],
    ) -> None:
        self._name = command.name
        self._on_message = on_message
        self._on_exit = on_exit
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._turn = threading.Lock()  # whoever has it reads
        self._read_elsewhere = 0
        self._expects = threading.Event()
        self._lost = False
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(command.python, "-u", "-m", "shoal_stub"),
                    *(str(theirs.fileno()), str(command.memory_bytes)),
                ],
                pass_fds=[theirs.fileno()],
                env=process_environment(command.environment, STUB),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self.channel = Channel(ours, _dump, msgspec.json.decode, command.shared_bytes)
        self._printer = threading.Thread(
            target=self._print, name=f"{command.name}-output", daemon=True
        )
        self._reader = threading.Thread(
            target=self._read, name=f"{command.name}-messages", daemon=True
        )
        self._printer.start()
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def last_lines(self) -> list[str]:
        """The end of what the process printed."""
        return list(self._lines)

    @property
    def end(self) -> str:
        """How it ended, for people; call it when it has."""
        code = self._process.poll()
        if code is None:
            return "it closed its connection"
        if code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        return f"it exited with code {code}"

    def send(self, message: Message) -> None:
        """Raises Closed when the process is gone."""
        self.channel.send(message)

    def kill(self) -> None:
        """End it and what it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self, grace_s: float = _GRACE_S) -> None:
        """Ask it to finalize, wait for at most ``grace_s`` seconds, then kill it. Blocking."""
        with contextlib.suppress(Closed):
            self.send({"op": "finalize"})
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            logger.warning("model instance %s did not end in %g s: killed", self._name, grace_s)
        self.kill()
        self._process.wait()
        self._reader.join(_GRACE_S)
        self._printer.join(_GRACE_S)

    # --- reading -------------------------------------------------------------------------------

    def read_until(self, found: Callable[[], bool], timeout_s: float = 0.0) -> bool:
        """Hand out messages in the caller's own thread until ``found`` or the process is gone.

        While a thread waits for a batch it reads itself: a message costs no change of thread.
        Gives False when ``timeout_s`` (0: none) is over.
        """
        end = time.monotonic() + timeout_s
        self._read_elsewhere += 1
        with self._turn:
            while not (found() or self._lost):
                if timeout_s and not self._poll(select.POLLIN, max(0.0, end - time.monotonic())):
                    return False
                self._receive()
        return True

    def expect(self, expects: bool) -> None:
        """Whether messages may come while no batch is read for that must not wait for one."""
        if expects != self._expects.is_set():
            (self._expects.set if expects else self._expects.clear)()

    def _poll(self, events: int, timeout_s: float | None) -> bool:
        poller = select.poll()
        poller.register(self.channel.fileno(), events)
        return bool(poller.poll(None if timeout_s is None else timeout_s * 1000))

    def _receive(self) -> None:
        try:
            self._on_message(self.channel.receive())
        except Closed:
            logger.debug("model instance %s closed its connection", self._name)
            self._lost = True
        except Exception:
            logger.exception("model instance %s sent what cannot be read", self._name)
            self._lost = True

    def _read(self) -> None:
        """Read when nobody else does, and see the process out."""
        seen = self._read_elsewhere
        while not self._lost:
            self._poll(select.POLLIN, None)
            # why: in a run of batches another thread reads, and waking up each time is dear.
            while self._read_elsewhere != seen:
                seen = self._read_elsewhere
                if self._expects.wait(_ELSEWHERE_S):
                    break
            with self._turn:
                while self._comes_more():
                    self._receive()
        self._wait_for_exit()

    def _comes_more(self) -> bool:
        return not self._lost and self._poll(select.POLLIN, 0.0)

    def _wait_for_exit(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self.kill()
        self._process.wait()
        self._printer.join(1)
        self._on_exit(self)
        self.channel.close()

    def _print(self) -> None:
        """Hand its output on, and keep the end of it."""
        output = self._process.stdout
        assert output is not None  # noqa: S101 # asked for above
        with output:
            while raw := output.readline(_LONGEST_LINE):
                line = raw.decode("utf-8", "replace").rstrip("\n")
                self._lines.append(line)
                sys.stderr.write(line + "\n")


def resident_bytes(pid: int) -> int:
    """The memory of a process that no other shares; 0 when it has gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize()

"""The process of one Python model instance: started, talked to, watched, ended."""

import contextlib
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from worker_runtime.backends.python.environment import surroundings
from worker_runtime.backends.python.stub.shoal_stub.channel import Channel, Closed

logger = logging.getLogger(__name__)
STUB = Path(__file__).parent / "stub"
_LAST_LINES = 20
_GRACE_S = 5.0

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """How to start it. ``memory_bytes`` bounds its address space and ``shared_bytes`` its answers
    and requests in flight; 0 is no bound."""

    name: str
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 0
    shared_bytes: int = 0


class StubProcess:
    """``on_message`` and, once, ``on_exit`` are called in a thread of its own."""

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
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [command.python, "-u", "-m", "shoal_stub", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=surroundings(command.environment, STUB),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if command.memory_bytes:
            with contextlib.suppress(ProcessLookupError):
                limits = (command.memory_bytes, command.memory_bytes)
                resource.prlimit(self._process.pid, resource.RLIMIT_AS, limits)
        self.channel = Channel(ours, msgspec.json.encode, msgspec.json.decode, command.shared_bytes)
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
        self.channel.close()

    def _read(self) -> None:
        try:
            while True:
                self._on_message(self.channel.receive())
        except Closed:
            logger.debug("model instance %s closed its connection", self._name)
        except Exception:
            logger.exception("model instance %s sent what cannot be read", self._name)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self.kill()
        self._process.wait()
        self._printer.join(1)
        self._on_exit(self)

    def _print(self) -> None:
        """Hand its output on, and keep the end of it."""
        output = self._process.stdout
        assert output is not None  # noqa: S101 # asked for above
        with output:
            for raw in output:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                self._lines.append(line)
                sys.stderr.write(line + "\n")

"""An inference server that goes on after the command that started it: all of it in one folder.

Whether it runs is told by a lock that it holds from its first to its last moment, so that another
process with its number is never taken for it.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from shoal.client.errors import ShoalError
from shoal.dev import detached
from shoal.dev.lines import server_line
from shoal.dev.runtime import server_command
from shoal.local.home import tail

_HOST = "127.0.0.1"
_POLL_S = 0.05
_PATIENCE_S = 40.0  # longer than the server's own for requests that run
_KILLED_S = 10.0
_ASK_S = 5.0
_LONGEST_LOG, _MOST_LINES = 1 << 20, 20_000  # bytes and lines that are read of its end
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_FLAGS = tuple(
    flag
    for kind in ("http", "grpc", "metrics")
    for flag in (f"--{kind}-port=0", f"--{kind}-address={_HOST}")
)


class Background:
    """The server of ``folder``, which serves the repository ``models`` there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models = folder / "models"
        self.log = folder / "server.log"
        self._lock, self._pid = folder / "running.lock", folder / "pid"
        self._ready_file = folder / "ready.json"

    def start(self, flags: tuple[str, ...], variables: Mapping[str, str]) -> None:
        """Begin it, with ``variables`` laid over this program's. Raises ShoalError where the
        runtime is not installed."""
        command = server_command(
            "A local deployment",
            *("--model-repository", str(self.models), "--ready-file", str(self._ready_file)),
            *_FLAGS,
            *flags,
        )
        started = [sys.executable, "-I", "-S", detached.__file__, str(self.folder), str(self.log)]
        own = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            subprocess.run(
                [*started, *command],
                env={**own, **variables},
                pass_fds=(descriptor,),
                check=True,
            )
        finally:
            os.close(descriptor)  # the server's own goes on holding the lock

    def is_alive(self) -> bool:
        try:
            descriptor = os.open(self._lock, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @property
    def address(self) -> str | None:
        """``http://HOST:PORT/`` once it listens."""
        try:
            ports = json.loads(self._ready_file.read_text())
        except (FileNotFoundError, json.JSONDecodeError):  # not yet, or not to its end
            return None
        return f"http://{_HOST}:{ports['http_port']}/"

    def wait_ready(self) -> str:
        """Its address, once every model serves. However long packages take to install; raises
        ShoalError with the reason when it has ended."""
        while self.is_alive():
            address = self.address
            if address and _answers(f"{address}v2/health/ready"):
                return address
            time.sleep(_POLL_S)
        raise ShoalError("The deployment did not start", self.reason())

    def reason(self) -> str:
        """The errors that it told of, or else its last lines."""
        told = self._told()
        errors = [text.partition("  ")[2] for text, colour in told if colour == "red"]
        return "\n".join(dict.fromkeys(errors)) or "\n".join(text for text, _ in told[-20:])

    def last_lines(self, count: int) -> str:
        """Of what models print, and what the server says of them."""
        return "\n".join(text for text, _ in self._told()[-count:])

    def _told(self) -> list[tuple[str, str | None]]:
        lines = tail(self.log, _MOST_LINES, most_bytes=_LONGEST_LOG).splitlines()
        return [found for line in lines if (found := server_line(line)) is not None]

    def stop(self) -> None:
        """End it in order, or else at once; nothing where it does not run. Raises ShoalError where
        even that does not end it."""
        if self._ended_by(signal.SIGTERM, _PATIENCE_S) or self._ended_by(signal.SIGKILL, _KILLED_S):
            return
        raise ShoalError(
            "The deployment does not end",
            f"something holds {self._lock}",
            [f"`fuser {self._lock}` tells which process; it is safe to end it."],
        )

    def _ended_by(self, number: signal.Signals, patience_s: float) -> bool:
        deadline, sent = time.monotonic() + patience_s, False
        while self.is_alive():
            sent = sent or self._signal(number)
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _signal(self, number: signal.Signals) -> bool:
        """Whether it was sent: one that has only begun has not written its number yet."""
        try:
            os.kill(int(self._pid.read_text()), number)
        except (FileNotFoundError, ValueError, ProcessLookupError):
            return False
        return True

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=_ASK_S) as answer:
            return bool(answer.status == 200)
    except OSError:  # it is not ready, or has ended
        return False

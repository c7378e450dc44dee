"""The inference server of ``shoal dev``: a process of its own, and what it says."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from shoal.dev.runtime import server_command
from shoal.local import die_with_parent

_PATIENCE_S = 40.0  # longer than the server's own for requests that run
Listener = Callable[[str], None]


class DevServer:
    """Serves ``repository``, and again what changes in it, within a second.

    ``said`` gets each line of the server, ``asked`` each entry of its access log; both are called
    in threads. Made in the main thread, with which the server ends. Raises ShoalError where the
    runtime is not installed.
    """

    def __init__(
        self, repository: Path, work: Path, flags: Sequence[str], said: Listener, asked: Listener
    ) -> None:
        self._ready_file = work / "ready.json"
        served = ("--model-repository", str(repository), "--ready-file", str(self._ready_file))
        watched = ("--model-control-mode", "poll", "--repository-poll-secs", "1")
        lenient = ("--exit-on-error", "false", "--strict-readiness", "false")
        command = server_command("`shoal dev`", *served, *watched, *lenient)
        (lines, writing), (entries, logging) = os.pipe(), os.pipe()
        command = [
            *(sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid())),
            *(*command, "--access-log", f"/dev/fd/{logging}", *flags),
        ]
        # why a session of its own: Ctrl-C is for this command, which ends the server in order
        self._process = subprocess.Popen(
            command,
            stdout=writing,
            stderr=subprocess.STDOUT,
            pass_fds=(logging,),
            start_new_session=True,
        )
        os.close(writing)
        os.close(logging)
        self._readers = [_reader(lines, said), _reader(entries, asked)]

    def ports(self) -> dict[str, int] | None:
        """By name (``http_port`` ...) once all are open; None before."""
        if not self._ready_file.exists():
            return None
        found: dict[str, int] = json.loads(self._ready_file.read_text())
        return found

    def wait(self, timeout_s: float | None = None) -> int | None:
        """The exit code, None after ``timeout_s``."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout_s)
        return None

    def stop(self) -> int:
        """End it in order; returns the exit code. Ctrl-C meanwhile ends it at once."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(_PATIENCE_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self._process.kill()
            code = self._process.wait()
        for reader in self._readers:
            reader.join()
        return code


def _reader(descriptor: int, listener: Listener) -> threading.Thread:
    def read() -> None:
        with os.fdopen(descriptor, errors="replace") as stream:
            for line in stream:
                listener(line.rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread

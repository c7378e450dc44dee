"""A helper process that answers each line of JSON with one: all load side by side, and wait."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.repository import ROOT


class Voice:
    """What a child says. From then on all else that is printed goes where its errors go.

    why: ONNX Runtime and the libraries below it print to standard output, too.
    """

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def say(self, line: dict[str, Any]) -> None:
        print(json.dumps(line), file=self._file, flush=True)


def close_all(children: Iterable["Child"]) -> None:
    """Side by side: each takes a while to let go of a device."""
    children = list(children)
    for child in children:
        child.dismiss()
    for child in children:
        child.close()


class ChildFailed(RuntimeError):
    pass


class Child:
    """``python -m <module> JOB``. Its standard error is shown when it fails."""

    def __init__(self, module: str, job: dict[str, Any]) -> None:
        self._name = f"{module} {json.dumps(job)}"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # why: it lasts as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(job)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._read = b""

    def say(self, line: Any) -> None:
        """Raises ChildFailed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._failed("ended") from error

    def hear(self, timeout_s: float) -> Any:
        """The next answer. Raises ChildFailed: it ended, or told of a failure, or is late."""
        assert self._process.stdout is not None
        number, end = self._process.stdout.fileno(), time.monotonic() + timeout_s
        while b"\n" not in self._read:
            ready, _, _ = select.select([number], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise self._failed(f"gave no answer in {timeout_s:.0f} s")
            more = os.read(number, 1 << 20)
            if not more:
                raise self._failed("ended")
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        answer = json.loads(line)
        if isinstance(answer, dict) and "failed" in answer:
            raise ChildFailed(answer["failed"])
        return answer

    def ask(self, line: Any, timeout_s: float) -> Any:
        self.say(line)
        return self.hear(timeout_s)

    def dismiss(self) -> None:
        """It ends once it has read all: its input does."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, and did not read what it was told last
            self._process.stdin.close()

    def close(self) -> None:
        """See to it that it ends."""
        assert self._process.stdout is not None
        self.dismiss()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _failed(self, what: str) -> ChildFailed:
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")[-2000:].strip()
        return ChildFailed(f"{self._name} {what}" + (f":\n{text}" if text else ""))

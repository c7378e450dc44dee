"""The whole product as a person starts it: one supervisor, in a home of its own, on free ports."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.reaper import clean_environment

ROOT = Path(__file__).parents[2]
START_S = 180.0
STOP_S = 60.0
POLL_S = 0.2
LOG_LINES = 25


@dataclass
class Product:
    home: Path
    more: dict[str, str] = field(default_factory=dict)  # variables of its environment
    process: "subprocess.Popen[str] | None" = None
    lines: list[str] = field(default_factory=list)
    url: str = ""
    password: str = ""
    client: dict[str, Any] = field(default_factory=dict)

    def start(self) -> None:
        """Returns when everything answers and the password is known; fails with the output."""
        free = dict.fromkeys(
            (
                "SHOAL_STUDIO_PORT",
                "SHOAL_AGENT_PORT",
                "SHOAL_GATEWAY_TLS_PORT",
                "SHOAL_GATEWAY_PORT",
            ),
            "0",
        )
        # The tests' own settings (pytest-django sets them) are not the product's.
        inherited = clean_environment()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal.local"],
            cwd=ROOT,
            env={**inherited, **free, "SHOAL_HOME": str(self.home), "COLUMNS": "200", **self.more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        described = self.home / "client.json"
        deadline = time.monotonic() + START_S
        while not (described.exists() and self._first_password()):
            assert self.process.poll() is None, f"shoal up ended:\n{self.output}"
            assert time.monotonic() < deadline, f"not up after {START_S} s:\n{self.output}"
            threading.Event().wait(POLL_S)
        self.client = json.loads(described.read_text())
        self.url = self.client["url"]
        self.password = self._first_password()

    def stop(self) -> None:
        """Ctrl-C first; whatever is left after a minute is killed."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(STOP_S)
            raise AssertionError(f"did not stop on Ctrl-C:\n{self.output}") from None

    @property
    def first_visit(self) -> str:
        """The path of the link that the first start prints, with its token."""
        found = re.search(r"^\s*First visit\s+http://[^/]+(/setup#\S+)", self.output, re.MULTILINE)
        return found.group(1) if found else ""

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def last_words(self) -> str:
        """The end of every program's log, for the report of a failed test."""
        parts = [f"== shoal up\n{self.output}"]
        for log in sorted((self.home / "logs").glob("*.log")):
            tail = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            parts.append("\n".join([f"== {log.name}", *tail]))
        return "\n".join(parts) + "\n"

    def _first_password(self) -> str:
        found = re.search(r"^\s*Password\s+(\S+)", self.output, re.MULTILINE)
        return found.group(1) if found else ""

    def _read(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            for line in self.process.stdout:
                self.lines.append(line)

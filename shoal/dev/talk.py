"""What happens in the server of ``shoal dev``, told on the terminal."""

import json
import re
import threading
import urllib.error
import urllib.request
from typing import Any

import click

from shoal.dev.lines import model_lines, request_line, server_line
from shoal.dev.server import DevServer

_LOADED = re.compile(r"successfully loaded '(.+)'$")
_SECONDS = 5.0


class Talk:
    """``said`` and ``asked`` are called in the threads that read from the server."""

    def __init__(self, host: str, *, everything: bool) -> None:
        self._host = host
        self._everything = everything
        self._server: DevServer | None = None
        self._shown: dict[str, list[str]] = {}
        self._failures: set[str] = set()  # of the files as they are
        self._lock = threading.Lock()
        self._following = threading.Event()

    def follow(self, server: DevServer) -> None:
        self._server = server
        self._following.set()

    def said(self, line: str) -> None:
        found = server_line(line, everything=self._everything)
        if found is None:
            return
        text, colour = found
        if self._known(text):
            return
        self._print(text, colour)
        loaded = _LOADED.search(text)
        if loaded is not None:
            self._introduce(loaded[1])

    def _known(self, text: str) -> bool:
        """A failure that was told: the server tries again each second, until the file changes."""
        what = text.partition("  ")[2]
        if _LOADED.search(what):
            self._failures.clear()
        elif what.startswith("failed to load"):
            again = what in self._failures
            self._failures.add(what)
            return again
        return bool(self._failures) and what.startswith("loading:")

    def asked(self, line: str) -> None:
        self._print(*request_line(line))

    def _introduce(self, name: str) -> None:
        """How to call a model: when it comes, and again when that has changed."""
        lines = self._lines_of(name)
        if lines and self._shown.get(name) != lines:
            self._shown[name] = lines
            for line in lines:
                self._print(line, "cyan")

    def _lines_of(self, name: str) -> list[str]:
        self._following.wait()
        ports = self._server.ports() if self._server is not None else None
        if ports is None:
            return []
        http = f"{self._host}:{ports['http_port']}"
        try:
            with urllib.request.urlopen(f"http://{http}/v2/models/{name}", timeout=_SECONDS) as got:
                metadata: dict[str, Any] = json.load(got)
        except urllib.error.HTTPError:  # it has gone again meanwhile
            return []
        except OSError as error:
            return [f"{name} is loaded, but does not say what it takes: {error}"]
        return model_lines(metadata, http)

    def _print(self, text: str, colour: str | None) -> None:
        with self._lock:
            click.secho(text, fg=colour)

"""A client of the Debug Adapter Protocol, as far as stopping at a line takes one."""

import itertools
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self


class DebugClient:
    """Raises AssertionError for a request that is refused, OSError when nobody answers in time."""

    def __init__(self, port: int, timeout_s: float = 30.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._stream = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()

    def attach(self, file: Path, line: int) -> None:
        """And stop wherever ``line`` of ``file`` is reached."""
        self.ask("initialize", adapterID="debugpy", pathFormat="path", linesStartAt1=True)
        # why not asked: the adapter answers once the configuration is done
        self._send("attach", {"justMyCode": True})
        self.event("initialized")
        found = self.ask("setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": line}])
        assert found["breakpoints"][0]["line"] == line
        self.ask("configurationDone")

    def stopped(self) -> dict[str, Any]:
        """The frame in which a thread has stopped: its place, its variables' values by name."""
        thread = self.event("stopped")["threadId"]
        frame: dict[str, Any] = self.ask("stackTrace", threadId=thread)["stackFrames"][0]
        scope = self.ask("scopes", frameId=frame["id"])["scopes"][0]
        found = self.ask("variables", variablesReference=scope["variablesReference"])["variables"]
        variables = {item["name"]: item["value"] for item in found}
        return {**frame, "thread": thread, "variables": variables}

    def go_on(self, thread: int) -> None:
        self.ask("continue", threadId=thread)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        number = self._send(command, arguments)
        answer = self._until(lambda message: message.get("request_seq") == number)
        assert answer["success"], answer
        body: dict[str, Any] = answer.get("body") or {}
        return body

    def event(self, name: str) -> dict[str, Any]:
        for seen in self._events:
            if seen["event"] == name:
                self._events.remove(seen)
                return dict(seen.get("body") or {})
        found = self._until(lambda message: message.get("event") == name)
        self._events.remove(found)
        return dict(found.get("body") or {})

    def _send(self, command: str, arguments: dict[str, Any]) -> int:
        number = next(self._numbers)
        body = json.dumps(
            {"seq": number, "type": "request", "command": command, "arguments": arguments}
        ).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return number

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            size = 0
            while line := self._stream.readline().strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            if not size:
                raise ConnectionResetError("the debugger has gone")
            message = json.loads(self._stream.read(size))
            if message["type"] == "event":
                self._events.append(message)
            if wanted(message):
                found: dict[str, Any] = message
                return found

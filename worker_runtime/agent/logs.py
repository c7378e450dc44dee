"""Ships what replicas write to the control plane: nothing twice, nothing lost over restarts."""

import json
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from wire.messages import DesiredReplica, LogEntry
from worker_runtime.agent.journal import ReplicaFolder

LINE_LIMIT = 8192  # characters
READ_BYTES = 256 * 1024
SHORTEST_SECRET = 4  # characters
MASK = "[secret]"
LAST_BYTES = 64 * 1024
# Rows and rules of a table, and the empty line that announces one.
TABLE = re.compile(r"\| |\+-|[IWE]\d{4} \S+ \d+ \S+\] $")
FILE_LIMIT_BYTES = 32 * 2**20
RUNTIME_STREAM = "inference-server"
AGENT_STREAM = "storage-initializer"


@dataclass(slots=True)
class Cursor:
    """Where shipping stands in one file; `base` counts bytes of earlier, emptied contents."""

    base: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Lines to ship, and where the file stands once they have arrived."""

    entries: tuple[LogEntry, ...]
    offset: int


def masked(replica: DesiredReplica, text: str) -> str:
    """``text`` without the values of the replica's secrets: a model may print what it was given.

    Short values stay: masking every "1" would make the log unreadable and give the value away.
    """
    values = {replica.environment.get(name, "") for name in replica.secrets}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, MASK)
    return text


class LogTail:
    """The two logs of one replica; a line's `seq` is its end in bytes since the log began."""

    def __init__(self, replica: DesiredReplica, folder: ReplicaFolder) -> None:
        self._replica = replica
        self._file = folder.path / "shipped.json"
        self._paths = {RUNTIME_STREAM: folder.runtime_log, AGENT_STREAM: folder.agent_log}
        self._cursors = self._read_cursors()

    def pages(self) -> dict[str, Page]:
        """What is new, by stream; nothing moves before `shipped` is called with it."""
        found = {stream: self._page(stream) for stream in self._paths}
        return {stream: page for stream, page in found.items() if page.entries}

    def shipped(self, pages: dict[str, Page]) -> None:
        """The control plane has these: move on, and empty a file that has grown too long."""
        if not self._file.parent.exists():
            return  # the replica was discarded while its last lines were on their way
        for stream, page in pages.items():
            self._cursors[stream].offset = page.offset
            self._empty_if_long(stream)
        temporary = self._file.with_suffix(".new")
        temporary.write_text(
            json.dumps(
                {name: [cursor.base, cursor.offset] for name, cursor in self._cursors.items()}
            )
        )
        temporary.replace(self._file)

    def _page(self, stream: str) -> Page:
        cursor, path = self._cursors[stream], self._paths[stream]
        try:
            with path.open("rb") as source:
                if cursor.offset > os.fstat(source.fileno()).st_size:  # somebody emptied it
                    cursor.base, cursor.offset = cursor.base + cursor.offset, 0
                source.seek(cursor.offset)
                data = source.read(READ_BYTES)
        except FileNotFoundError:
            return Page((), cursor.offset)
        complete = data.rfind(b"\n") + 1
        if not complete and len(data) == READ_BYTES:  # one endless line: ship it in pieces
            complete = len(data)
        entries, position = [], cursor.offset
        for line in data[:complete].splitlines(keepends=True):
            position += len(line)
            text = line.decode(errors="replace").rstrip("\r\n")
            if text:
                entries.append(self._entry(stream, text, cursor.base + position))
        return Page(tuple(entries), cursor.offset + complete)

    def _entry(self, stream: str, text: str, seq: int) -> LogEntry:
        at = time.time()
        if stream == AGENT_STREAM:  # "<unix seconds> <text>", see ReplicaFolder.note
            stamp, _, text = text.partition(" ")
            at = float(stamp)
        return LogEntry(
            replica_id=self._replica.replica_id,
            endpoint=self._replica.endpoint,
            deployment=self._replica.deployment,
            at=at,
            stream=stream,
            text=masked(self._replica, text)[:LINE_LIMIT],
            seq=seq,
        )

    def _empty_if_long(self, stream: str) -> None:
        cursor, path = self._cursors[stream], self._paths[stream]
        if cursor.offset < FILE_LIMIT_BYTES or cursor.offset != path.stat().st_size:
            return
        # why not rename: the runtime holds the file open, in append mode.
        shutil.copyfile(path, path.with_suffix(".log.1"))
        os.truncate(path, 0)
        cursor.base, cursor.offset = cursor.base + cursor.offset, 0

    def _read_cursors(self) -> dict[str, Cursor]:
        try:
            data = json.loads(self._file.read_text())
            return {name: Cursor(*map(int, data[name])) for name in self._paths}
        except (OSError, ValueError, KeyError, TypeError):
            return {name: Cursor() for name in self._paths}


def last_lines(path: Path, count: int) -> str:
    """The last `count` lines of `path` that tell something; empty when there is no such file.

    The tables that a runtime prints when it has started would push out why it could not serve.
    """
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST_BYTES))
            text = stream.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    lines = [line for line in text.splitlines() if line.strip() and not TABLE.match(line)]
    return "\n".join(lines[-count:])

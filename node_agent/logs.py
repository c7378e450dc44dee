"""Ships what replicas write to the control plane: nothing twice, nothing lost over restarts.

A replica that writes faster than its lines can be shipped loses the middle, and is told so in its
own log; its files stay within two limits, also while nobody takes the lines.
"""

import dataclasses
import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from node_agent.failure import size
from node_agent.journal import ReplicaFolder
from wire.messages import DesiredReplica
from wire.samples import LogEntry

LINE_LIMIT = 8192  # characters
READ_BYTES = 256 * 1024
SHORTEST_SECRET = 4  # characters
MASK = "[secret]"
LAST_BYTES = 64 * 1024
# Rows and rules of a table, and the empty line that announces one.
TABLE = re.compile(r"\| |\+-|[IWE]\d{4} \S+ \d+ \S+\] $")
STAMP = re.compile(r"(\d{1,12}\.\d{3}) ", re.ASCII)  # Unix seconds, see ReplicaFolder.note
PAGE_LINES = 2000  # a message is several times as long as a short line in it
COPY_BYTES = 1 << 20
FILE_LIMIT_BYTES = 32 * 2**20
BEHIND_LIMIT_BYTES = 4 * 2**20  # more than this is never caught up with: the middle is left out
BEHIND_KEPT_BYTES = 2**20
RUNTIME_STREAM = "inference-server"
AGENT_STREAM = "storage-initializer"


@dataclass(slots=True)
class Cursor:
    """Where shipping stands in one stream; ``base`` counts bytes of earlier, emptied contents.

    With ``aside`` the file was put aside (`.log.1`) before all of it was shipped, and ``offset`` is
    in that one; what is written since comes after it. ``lost`` bytes were dropped unshipped, which
    the log has not been told yet.
    """

    base: int = 0
    offset: int = 0
    aside: bool = False
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Lines to ship, and where the stream stands once they have arrived."""

    entries: tuple[LogEntry, ...]
    cursor: Cursor


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
        found = {}
        for stream in self._paths:
            page = self._page(stream)
            if page.entries:
                found[stream] = page
            else:
                self._cursors[stream] = page.cursor  # nothing but empty lines
        return found

    def shipped(self, pages: dict[str, Page]) -> None:
        """The control plane has these: move on."""
        for stream, page in pages.items():
            self._cursors[stream] = page.cursor
        self._write_cursors()

    def grown(self) -> bool:
        """Trim; whether there may be something to ship. Reads nothing."""
        self.trim()
        return any(
            cursor.aside or cursor.offset != _size(self._paths[stream])
            for stream, cursor in self._cursors.items()
        )

    def trim(self) -> None:
        """Put aside and empty files that have grown too long, shipped or not.

        Of what was put aside before, the lines that nobody took are dropped.
        """
        for stream, path in self._paths.items():
            if _size(path) < FILE_LIMIT_BYTES:
                continue
            cursor = self._cursors[stream]
            if cursor.aside:
                length = _size(_aside(path))
                cursor.lost += length - cursor.offset
                cursor.base, cursor.offset = cursor.base + length, 0
            # why not rename: the runtime holds the file open, in append mode.
            begun = copy_end(path, _aside(path))
            os.truncate(path, 0)
            cursor.lost += max(0, begun - cursor.offset)
            cursor.base, cursor.offset = cursor.base + begun, max(0, cursor.offset - begun)
            cursor.aside = True
            self._write_cursors()

    def _page(self, stream: str) -> Page:
        path = self._paths[stream]
        cursor = dataclasses.replace(self._cursors[stream])
        if cursor.aside and cursor.offset >= _size(_aside(path)):
            cursor = Cursor(base=cursor.base + cursor.offset, lost=cursor.lost)
        if not cursor.aside and cursor.offset > _size(path):  # somebody emptied it
            cursor = Cursor(base=cursor.base + cursor.offset, lost=cursor.lost)
        cursor.lost += self._skip(path, cursor)
        data = _read(_aside(path) if cursor.aside else path, cursor.offset)
        complete = data.rfind(b"\n") + 1
        # An endless line is shipped in pieces; the last one of a file put aside goes on elsewhere.
        if not complete and (len(data) == READ_BYTES or cursor.aside):
            complete = len(data)
        entries = []
        if cursor.lost and complete:
            entries.append(self._left_out(stream, cursor))
            cursor.lost = 0
        for line in data[:complete].splitlines(keepends=True):
            if len(entries) == PAGE_LINES:
                break
            cursor.offset += len(line)
            text = line.decode(errors="replace").rstrip("\r\n")
            if text:
                entries.append(self._entry(stream, text, cursor.base + cursor.offset))
        return Page(tuple(entries), cursor)

    def _skip(self, path: Path, cursor: Cursor) -> int:
        """Move the cursor on where too much waits; how many bytes were left out."""
        rest = _size(_aside(path)) - cursor.offset if cursor.aside else 0
        behind = rest + _size(path) - (0 if cursor.aside else cursor.offset)
        if behind <= BEHIND_LIMIT_BYTES:
            return 0
        skipped = behind - BEHIND_KEPT_BYTES
        if cursor.aside and skipped >= rest:
            cursor.base, cursor.offset, cursor.aside = cursor.base + cursor.offset + rest, 0, False
            cursor.offset = skipped - rest
        else:
            cursor.offset += skipped
        head = _read(_aside(path) if cursor.aside else path, cursor.offset)
        begun = head.find(b"\n") + 1  # the rest of a line that began in what is left out
        cursor.offset += begun
        return skipped + begun

    def _left_out(self, stream: str, cursor: Cursor) -> LogEntry:
        where = self._paths[stream]
        text = (
            f"... {size(cursor.lost)} left out: this is written faster than it can be shipped. "
            f"The newest {size(2 * FILE_LIMIT_BYTES)} are on the node: {where}, {_aside(where)}"
        )
        stamp = f"{time.time():.3f} " if stream == AGENT_STREAM else ""
        return self._entry(stream, stamp + text, cursor.base + cursor.offset)

    def _entry(self, stream: str, text: str, seq: int) -> LogEntry:
        at = time.time()
        if stream == AGENT_STREAM and (stamp := STAMP.match(text)):
            at, text = float(stamp[1]), text[stamp.end() :]
        return LogEntry(
            replica_id=self._replica.replica_id,
            endpoint=self._replica.endpoint,
            deployment=self._replica.deployment,
            at=at,
            stream=stream,
            text=masked(self._replica, text)[:LINE_LIMIT],
            seq=seq,
        )

    def _read_cursors(self) -> dict[str, Cursor]:
        try:
            data = json.loads(self._file.read_text())
            return {name: _cursor(data[name]) for name in self._paths}
        except (OSError, ValueError, KeyError, TypeError):
            return {name: Cursor() for name in self._paths}

    def _write_cursors(self) -> None:
        if not self._file.parent.exists():
            return  # the replica was discarded while its last lines were on their way
        temporary = self._file.with_suffix(".new")
        temporary.write_text(
            json.dumps(
                {
                    name: [cursor.base, cursor.offset, cursor.aside, cursor.lost]
                    for name, cursor in self._cursors.items()
                }
            )
        )
        temporary.replace(self._file)


def _cursor(kept: list[int]) -> Cursor:
    base, offset, aside, lost = [*kept, 0, 0][:4]  # versions before wrote two
    return Cursor(int(base), int(offset), bool(aside), int(lost))


def _aside(path: Path) -> Path:
    return path.with_suffix(".log.1")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as source:
            source.seek(offset)
            return source.read(READ_BYTES)
    except FileNotFoundError:
        return b""


def copy_end(path: Path, target: Path) -> int:
    """The end of `path`, also of what is written while we copy; where that begins.

    Twice the limit at most: who writes it gives the file any length by one call, and may go on as
    fast as we copy.
    """
    length = _size(path)
    begin = 0 if length <= 2 * FILE_LIMIT_BYTES else length - FILE_LIMIT_BYTES
    left = 2 * FILE_LIMIT_BYTES
    with path.open("rb") as source, target.open("wb") as output:
        source.seek(begin)
        while chunk := source.read(min(COPY_BYTES, left)):
            output.write(chunk)
            left -= len(chunk)
    return begin


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

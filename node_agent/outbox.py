"""Files of captured data on their way: taken from replicas, kept until the control plane has them.

What replicas write is a stranger's: it is opened without following links, copied up to a bound, and
nothing of it is believed. The outbox has a bound, too; while it is full, files stay where they are,
where the runtime keeps to a bound of its own.
"""

import json
import logging
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node_agent import removal
from node_agent.journal import ReplicaFolder
from wire.messages import DesiredReplica

logger = logging.getLogger(__name__)

# As runtimes name finished files: first and last time, records, dropped.
FINISHED: Final = re.compile(r"\d{1,15}-\d{1,15}-\d{1,9}-\d{1,12}\.jsonl", re.ASCII)
FILE_BYTES: Final = 4 * 2**20
OUTBOX_BYTES: Final = 256 * 2**20
AT_ONCE: Final = 20  # files of one replica taken in one turn
MOST_SEEN: Final = 10_000  # names in a replica's folder
OWNER: Final = "owner.json"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is to be sent, and whose it is."""

    path: Path
    replica_id: str
    endpoint: str
    deployment: str


class Outbox:
    """Blocks: for threads."""

    def __init__(self, folder: Path, *, most_bytes: int = OUTBOX_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def take(self, replica: DesiredReplica, folder: ReplicaFolder) -> int:
        """Move finished files of a replica here; how many. Raises OSError for our own disk."""
        if replica.capture is None:
            return 0
        try:
            with removal.opened(folder.captured) as spool:
                return self._take(replica, spool)
        except (FileNotFoundError, NotADirectoryError):  # it has captured nothing yet
            return 0

    def _take(self, replica: DesiredReplica, spool: int) -> int:
        room = self._most_bytes - self._used_bytes()
        taken = 0
        for name in _finished(spool)[:AT_ONCE]:
            content = _content(name, spool)
            if content is not None and len(content) > room:
                logger.debug("No room for captured data of %s", replica.replica_id)
                break
            if content:
                self._keep(replica, name, content)
                room -= len(content)
                taken += 1
            os.unlink(name, dir_fd=spool)
        return taken

    def _keep(self, replica: DesiredReplica, name: str, content: bytes) -> None:
        own = self._folder / replica.replica_id
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = {"endpoint": replica.endpoint, "deployment": replica.deployment}
        (own / OWNER).write_text(json.dumps(owner))
        staged = own / f"{name}.new"
        with staged.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(content)
        staged.replace(own / name)

    def waiting(self) -> Iterator[Waiting]:
        """The oldest of each replica first."""
        if not self._folder.is_dir():
            return
        for own in sorted(self._folder.iterdir()):
            files = sorted(path for path in own.iterdir() if FINISHED.fullmatch(path.name))
            if not files:
                continue
            try:
                owner = json.loads((own / OWNER).read_text())
                endpoint, deployment = str(owner["endpoint"]), str(owner["deployment"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                logger.warning("%s: nobody knows whose captured data this is: %s", own, error)
                removal.remove(own)
                continue
            for path in files:
                yield Waiting(path, own.name, endpoint, deployment)

    def sent(self, file: Waiting) -> None:
        """It has arrived, or will never be wanted."""
        file.path.unlink(missing_ok=True)
        if not any(FINISHED.fullmatch(path.name) for path in file.path.parent.iterdir()):
            removal.remove(file.path.parent)

    def _used_bytes(self) -> int:
        if not self._folder.is_dir():
            return 0
        return sum(path.stat().st_size for own in self._folder.iterdir() for path in own.iterdir())


def _finished(spool: int) -> list[str]:
    """Names of finished files, the oldest first."""
    names = []
    with os.scandir(spool) as entries:
        for count, entry in enumerate(entries):
            if count >= MOST_SEEN:
                break
            if FINISHED.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
    return sorted(names)


def _content(name: str, spool: int) -> bytes | None:
    """The bytes of a regular file of a size that runtimes write; else None."""
    try:
        # why not blocking: a pipe would hold us
        found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=spool)
    except OSError as error:
        logger.warning("Captured data %s is no file: %s", name, error)
        return None
    with os.fdopen(found, "rb") as file:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            logger.warning("Captured data %s is no regular file", name)
            return None
        content = file.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        logger.warning("Captured data %s has more than %d bytes: removed", name, FILE_BYTES)
        return None
    return content

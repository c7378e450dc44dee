"""The node's folder: its one user, and the id by which control planes tell it from another."""

import fcntl
import logging
import os
import secrets
from pathlib import Path

logger = logging.getLogger(__name__)


class FolderTaken(RuntimeError):
    """Another agent runs on this folder; the text says which, and what to do."""


class NodeFolder:
    """`node/` of the data folder. Of a lock that a process holds nothing is left when it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_file = path / "agent.lock"
        self._lock = -1

    def take(self) -> None:
        """Make it, for this user alone, and be its only agent. Raises FolderTaken, OSError."""
        self.path.mkdir(parents=True, exist_ok=True)
        # why ours alone: journals hold the deployments' secrets, logs what models print
        self.path.chmod(0o700)
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace") or "another one"
            os.close(descriptor)
            raise FolderTaken(
                f"{self.path} is in use: process {holder} runs on it. Stop that one "
                "first; for a second node on this machine set another SHOAL_HOME, and another "
                "SHOAL_NODE_NAME."
            ) from None
        except OSError as error:  # a file system without locks: work as before there were any
            logger.warning("%s cannot be locked (%s); run one agent on it", self._lock_file, error)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = descriptor

    def lost(self) -> bool:
        """Whether somebody deleted it, or put another in its place, since it was taken."""
        try:
            there = self._lock_file.stat()
        except FileNotFoundError:
            return True
        held = os.fstat(self._lock)
        return (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino)

    def id(self) -> str:
        """Made with the folder, and lost with it."""
        file = self.path / "folder-id"
        try:
            if found := file.read_text().strip():
                return found
        except FileNotFoundError:
            pass
        made = secrets.token_hex(16)
        self.keep_id(made)
        return made

    def keep_id(self, known: str) -> None:
        (self.path / "folder-id").write_text(known)

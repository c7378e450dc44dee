"""The data folder of an installation: its layout, its secrets, its lock and `client.json`."""

import fcntl
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from shoal.local import closed

FOLDERS = ("secrets", "tls", "db", "blobs", "uploads", "redis", "logs", "node", "gateway", "beat")
SECRETS = ("secret_key", "gateway_token", "redis_password")


class HomeInUse(RuntimeError):
    """Another `shoal up` runs on this folder."""


class Home:
    """One data folder, locked for as long as this object holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def prepare(self) -> None:
        """Make what is missing, take the lock, close all to others. Raises HomeInUse, OSError."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        closed.refuse_shared(self.path)
        self._take_lock()
        for folder in FOLDERS:
            (self.path / folder).mkdir(mode=0o700, exist_ok=True)
        closed.close(self.path, FOLDERS)
        for name in SECRETS:
            file = self.path / "secrets" / name
            if not file.exists():
                write_private(file, secrets.token_urlsafe(48))

    def secret(self, name: str) -> str:
        return (self.path / "secrets" / name).read_text().strip()

    def write_client(self, content: Mapping[str, str]) -> None:
        """How the command line and the SDK on this machine find the installation."""
        write_private(self.path / "client.json", json.dumps(dict(content), indent=2) + "\n")

    def log(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        descriptor = os.open(self.path / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise HomeInUse(
                f"Shoal is already running on {self.path} (process {owner}). "
                "Stop it with Ctrl-C, or set SHOAL_HOME to another folder."
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._lock = descriptor


def write_private(file: Path, text: str) -> None:
    """Write atomically with mode 0600; a reader sees the old content or the new, never half."""
    temporary = file.with_name(f".{file.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)


def rotate(log: Path, *, keep: int = 3) -> None:
    """Move `log` aside as `.1` (and `.1` as `.2`, ...): each start has a file of its own."""
    for number in range(keep, 0, -1):
        older = log.with_name(f"{log.name}.{number}")
        newer = log.with_name(f"{log.name}.{number - 1}") if number > 1 else log
        if newer.exists():
            newer.replace(older)


def tail(log: Path, lines: int = 20, *, most_bytes: int = 16 * 1024) -> str:
    """The last `lines` lines of `log`, or fewer; empty when there is no such file.

    A line of which only the end is within `most_bytes` is left out, unless it is the last one:
    what it says may turn on how it begins.
    """
    try:
        with log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            # why one more: it shows whether what follows it is the beginning of a line
            begin = max(0, stream.tell() - most_bytes - 1)
            stream.seek(begin)
            data = stream.read()
    except FileNotFoundError:
        return ""
    if begin:
        data = data.partition(b"\n")[2] or data
    return "\n".join(data.decode(errors="replace").splitlines()[-lines:])

"""Sends a list of files: those that the server does not have, several at a time."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shoal.client.concurrency import Concurrency
from shoal.client.errors import Problem, UnusableSource
from shoal.client.packing import Package
from shoal.client.transport import Transport
from shoal.client.types import Upload
from shoal.client.uploads import OnBytes, chunk_of, complete, digest, grow, in_project

AT_ONCE = 4  # files under way: enough to fill a line while others are hashed and synced
_TRIES = 3  # of sending what the server still misses


@dataclass(frozen=True, slots=True)
class Listed:
    """``name`` is the path in the repository; a folder's ends with a slash and has no bytes.

    ``path`` None: a file of a registered version, whose bytes the server has.
    """

    path: Path | None
    name: str
    size: int
    sha256: str

    def announced(self) -> dict[str, Any]:
        if self.name.endswith("/"):
            return {"path": self.name, "size": 0}
        return {"path": self.name, "size": self.size, "sha256": self.sha256}


def listed(
    package: Package, concurrency: Concurrency, on_bytes: OnBytes | None = None
) -> list[Listed]:
    """The package's files with their SHA-256. ``on_bytes`` hears how much has been hashed."""
    return concurrency.aside(lambda: _hashed(package, on_bytes))


def _hashed(package: Package, on_bytes: OnBytes | None) -> list[Listed]:
    files = package.files
    if package.single is not None:
        files = ((package.single, package.filename),)
    sizes = [0 if name.endswith("/") else path.stat().st_size for path, name in files]
    total, before = sum(sizes), 0
    found = []
    for (path, name), size in zip(files, sizes, strict=True):

        def report(done: int, _: int, before: int = before) -> None:
            if on_bytes:
                on_bytes(before + done, total)

        sha256 = "" if name.endswith("/") else digest(path, report)
        found.append(Listed(path, name, size, sha256))
        before += size
    return found


def send(
    transport: Transport,
    filename: str,
    files: Sequence[Listed],
    *,
    project: str = "",
    on_bytes: OnBytes | None = None,
) -> Upload:
    """Sends what is missing and asks the server to inspect it all; returns before that is done.

    Survives what ``uploads.send`` survives, and raises the same.
    """
    body: dict[str, Any] = {"filename": filename, **in_project(project)}
    body["files"] = [file.announced() for file in files]
    upload = cast(Upload, transport.json("POST", "/uploads", json=body, repeat=True))
    where = f"/uploads/{upload['id']}"
    names = {file.sha256: file.name for file in files}
    paths = {file.sha256: file.path for file in sorted(files, key=_has_bytes)}
    counter = _Counter(on_bytes)
    for attempt in range(_TRIES):
        missing = transport.json("GET", f"{where}/files")["items"]
        counter.expect(missing)

        def send_one(item: dict[str, Any]) -> None:
            sha256, path = item["sha256"], paths[item["sha256"]]
            if path is None:
                raise UnusableSource("A file of a registered version is gone", names[sha256])
            if path.stat().st_size != item["size"]:
                raise UnusableSource("The file changed while it was sent", str(path))
            grow(
                transport,
                f"{where}/files/{sha256}",
                path,
                item["size"],
                offset=item["offset"],
                chunk=chunk_of(upload),
                on_bytes=lambda done, _: counter.report(sha256, done),
            )

        # why the largest first: the last one to end is then a small one
        largest = sorted(missing, key=lambda item: -item["size"])
        transport.concurrency.together(send_one, largest, at_once=AT_ONCE)
        try:
            return complete(transport, where, "")
        except Problem as problem:
            if problem.code != "UploadIncomplete" or attempt == _TRIES - 1:
                raise
    raise AssertionError("not reached")


class _Counter:
    """Bytes of several files as one number; files are sent from several threads."""

    def __init__(self, on_bytes: OnBytes | None) -> None:
        self._on_bytes = on_bytes
        self._done: dict[str, int] = {}
        self._total = 0
        self._lock = threading.Lock()

    def expect(self, missing: Sequence[dict[str, Any]]) -> None:
        self._done = {item["sha256"]: item["offset"] for item in missing}
        self._total = sum(item["size"] for item in missing)

    def report(self, sha256: str, done: int) -> None:
        if self._on_bytes is None:
            return
        with self._lock:
            self._done[sha256] = done
            self._on_bytes(sum(self._done.values()), self._total)


def _has_bytes(file: Listed) -> bool:
    return file.path is not None

"""Fetches a version's files; those that are there already, byte for byte, are not fetched again."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from shoal.client.errors import Problem, UnusableSource
from shoal.client.transport import Transport
from shoal.client.types import ModelVersion
from shoal.client.uploads import digest

OnBytes = Callable[[int, int], None]  # done, total


def fetch(
    transport: Transport, version: ModelVersion, target: Path, *, on_bytes: OnBytes | None = None
) -> Path:
    """``target`` then holds the repository. Raises Problem, ConnectionFailed, UnusableSource."""
    root = target.resolve()
    total, done = sum(entry["size"] for entry in version["manifest"]), 0
    for entry in version["manifest"]:
        path = (root / entry["path"]).resolve()
        if not path.is_relative_to(root):
            raise UnusableSource("The server names a file outside the folder", str(entry["path"]))
        if not (path.is_file() and digest(path) == entry["sha256"]):
            where = _place(version["model"], version["version"], entry["path"])
            _fetch_file(transport, where, path, entry["sha256"])
        done += entry["size"]
        if on_bytes:
            on_bytes(done, total)
    return target


def read_file(transport: Transport, model: str, version: int | str, path: str) -> bytes:
    """Raises Problem, ConnectionFailed."""
    return b"".join(transport.stream(_place(model, version, path)))


def _place(model: str, version: int | str, path: str) -> str:
    return f"/models/{quote(model, safe='')}/versions/{version}/files/{quote(path)}"


def _fetch_file(transport: Transport, where: str, path: Path, sha256: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    seen = hashlib.sha256()
    with unfinished.open("wb") as file:
        for piece in transport.stream(where):
            seen.update(piece)
            file.write(piece)
    if seen.hexdigest() != sha256:
        unfinished.unlink()
        raise Problem(
            "A file arrived damaged", str(path), ["Download again."], code="ChecksumMismatch"
        )
    unfinished.replace(path)

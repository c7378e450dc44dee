"""Sends a file in chunks, resumed at the server's offset, then follows its inspection."""

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import httpx

from shoal.client.errors import (
    ConnectionFailed,
    OperationFailed,
    Problem,
    UnusableSource,
    WaitTimeout,
    problem_arguments,
)
from shoal.client.transport import RESTARTING, Transport
from shoal.client.types import Upload

_SLICE_BYTES = 256 * 1024  # progress moves this often
_DAMAGED_LIMIT = 5  # chunks in a row that arrive with a wrong checksum
_POLL_S = 0.3

OnBytes = Callable[[int, int], None]  # done, total
OnUpload = Callable[[Upload], None]


def digest(path: Path, on_bytes: OnBytes | None = None) -> str:
    """SHA-256 of the file, hexadecimal."""
    total, done, sha = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sha.update(piece)
            done += len(piece)
            if on_bytes:
                on_bytes(done, total)
    return sha.hexdigest()


def send(
    transport: Transport,
    path: Path,
    filename: str,
    *,
    project: str = "",
    on_bytes: OnBytes | None = None,
) -> Upload:
    """Uploads ``path`` whole and asks the server to inspect it; returns before that is done.

    Survives broken connections and a restart of the studio for as long as bytes keep arriving
    within the transport's ``retry_for_s``. Raises Problem, ConnectionFailed, UnusableSource.
    """
    size = path.stat().st_size
    if size == 0:
        raise UnusableSource("The file is empty", str(path))
    sha256 = transport.concurrency.aside(lambda: digest(path))
    upload = cast(
        Upload,
        transport.json(
            "POST",
            "/uploads",
            json={"filename": filename, "size": size, "sha256": sha256, **in_project(project)},
            repeat=True,  # why: an upload that nobody continues expires
        ),
    )
    where, chunk = f"/uploads/{upload['id']}", chunk_of(upload)
    offset = upload["offset"]
    while True:
        grow(transport, where, path, size, offset=offset, chunk=chunk, on_bytes=on_bytes)
        try:
            return complete(transport, where, sha256)
        except Problem as problem:
            offset = _rewound(problem, "UploadIncomplete")


def in_project(project: str) -> dict[str, str]:
    return {"project": project} if project else {}


def chunk_of(upload: Upload) -> int:
    return upload.get("chunk_size") or 8 << 20


def grow(
    transport: Transport,
    where: str,
    path: Path,
    size: int,
    *,
    offset: int,
    chunk: int,
    on_bytes: OnBytes | None = None,
) -> None:
    """Sends the bytes of ``path`` from ``offset`` on to ``where``, until ``size`` have arrived."""
    damaged, last_progress = 0, transport.clock()
    with path.open("rb") as file:
        while offset < size:
            file.seek(offset)
            data = file.read(min(chunk, size - offset))
            if not data:
                raise UnusableSource("The file became shorter while it was sent", str(path))
            try:
                offset = _send_chunk(transport, where, offset, data, size, on_bytes)
                damaged, last_progress = 0, transport.clock()
            except ConnectionFailed:
                if transport.clock() - last_progress > transport.retry_for_s:
                    raise
                offset = _server_offset(transport, where)
            except Problem as problem:
                if problem.status in RESTARTING:
                    if transport.clock() - last_progress > transport.retry_for_s:
                        raise
                    transport.pause(_POLL_S)
                    offset = _server_offset(transport, where)
                elif problem.code == "ChecksumMismatch" and damaged < _DAMAGED_LIMIT:
                    damaged += 1
                else:
                    offset = _rewound(problem, "UploadOffsetConflict")


def wait_ready(
    transport: Transport,
    upload: Upload,
    *,
    timeout_s: float,
    on_change: OnUpload | None = None,
) -> Upload:
    """Follows the inspection to its end. Raises OperationFailed with the reason, or WaitTimeout."""
    give_up, last = transport.clock() + timeout_s, None
    while upload["state"] not in {"ready", "failed"}:
        if transport.clock() > give_up:
            raise WaitTimeout(
                "The file is still being inspected",
                f"upload {upload['id']} after {timeout_s:.0f} s: {upload['state']}",
                ["Is the Celery worker running?", "Raise --timeout for a very large file."],
            )
        transport.pause(_POLL_S)
        upload = cast(Upload, transport.json("GET", f"/uploads/{upload['id']}"))
        if on_change and upload != last:
            on_change(upload)
        last = upload
    if upload["state"] == "failed":
        raise OperationFailed(
            **problem_arguments(upload.get("error"), fallback="The file was refused")
        )
    return upload


def _send_chunk(
    transport: Transport,
    where: str,
    offset: int,
    data: bytes,
    total: int,
    on_bytes: OnBytes | None,
) -> int:
    checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
    response = transport.send(
        "PATCH",
        where,
        content=_slices(data, offset, total, on_bytes),
        headers={
            "Content-Type": "application/offset+octet-stream",
            "Content-Length": str(len(data)),
            "Upload-Offset": str(offset),
            "Upload-Checksum": f"sha256 {checksum}",
        },
        repeat=False,
    )
    return _offset(response, offset + len(data))


def _slices(data: bytes, offset: int, total: int, on_bytes: OnBytes | None) -> Iterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(data), _SLICE_BYTES):
        piece = bytes(view[start : start + _SLICE_BYTES])
        yield piece
        if on_bytes:
            on_bytes(offset + start + len(piece), total)


def _offset(response: httpx.Response, otherwise: int) -> int:
    text = response.headers.get("Upload-Offset")
    if text:
        return int(text)
    body = response.json() if response.content else {}
    return int(body["offset"]) if "offset" in body else otherwise


def _server_offset(transport: Transport, where: str) -> int:
    return int(transport.send("HEAD", where).headers["Upload-Offset"])


def complete(transport: Transport, where: str, sha256: str) -> Upload:
    """All bytes are sent: the server shall look at them."""
    body = {"sha256": sha256} if sha256 else {}
    try:
        answer = transport.json("POST", f"{where}/complete", json=body, repeat=False)
        return cast(Upload, answer)
    except ConnectionFailed:
        upload = cast(Upload, transport.json("GET", where))
        if upload["state"] == "uploading":
            return cast(Upload, transport.json("POST", f"{where}/complete", json=body))
        return upload


def _rewound(problem: Problem, code: str) -> int:
    """The offset that the server wants instead; any other problem is raised."""
    if problem.code == code and isinstance(problem.extra.get("offset"), int):
        return cast(int, problem.extra["offset"])
    raise problem

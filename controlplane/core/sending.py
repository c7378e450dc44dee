"""Sending bytes in pieces, asynchronously: neither a thread nor all of them are held; Range, and
nothing to who has them."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import BinaryIO, Final

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header

from controlplane.core.errors import RangeUnsatisfiable

OpenAt = Callable[[int], BinaryIO]
PIECE_BYTES: Final = 2**20
RANGE: Final = re.compile(r"bytes=(\d+)-(\d*)")


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """First and last byte asked for; the whole file without a header. None: not satisfiable.

    Only one range that names its first byte is understood, all else means the whole file.
    """
    match = RANGE.fullmatch(header.strip())
    if match is None:
        return 0, size - 1
    first = _place(match[1])
    last = min(_place(match[2]), size - 1) if match[2] else size - 1
    return (first, last) if first < size and first <= last else None


def _place(digits: str) -> int:
    """A number of any length, cut where it is beyond every file: Python reads no endless ones."""
    return int(digits.lstrip("0")[:19] or "0")


async def pieces(open_at: OpenAt, first: int, count: int) -> AsyncIterator[bytes]:
    # why async: a sync iterator would be drained into memory as a whole under ASGI
    file = await asyncio.to_thread(open_at, first)
    try:
        while count > 0:
            piece = await asyncio.to_thread(file.read, min(PIECE_BYTES, count))
            if not piece:
                return
            count -= len(piece)
            yield piece
    finally:
        file.close()


def bytes_response(
    size: int, open_at: OpenAt, range_header: str, *, filename: str = ""
) -> HttpResponseBase:
    """200 or 206; ``open_at`` gives the bytes from a place on. With a name it is for keeping, not
    for showing. Raises RangeUnsatisfiable."""
    span = byte_range(range_header, size)
    if span is None:
        raise RangeUnsatisfiable(
            f"Range {range_header!r} names no byte of this file: it has {size}.",
            field="Range",
            extra={"size": size},
        )
    first, last = span
    count = last - first + 1
    partial = bool(RANGE.fullmatch(range_header.strip()))
    response = StreamingHttpResponse(
        pieces(open_at, first, count),
        status=206 if partial else 200,
        content_type="application/octet-stream",
        headers={"Content-Length": str(count), "Accept-Ranges": "bytes"},
    )
    if filename:
        response["Content-Disposition"] = content_disposition_header(True, filename) or "attachment"
    if partial:
        response["Content-Range"] = f"bytes {first}-{last}/{size}"
    return response


def has_seen(request: HttpRequest, current: str) -> bool:
    """Whether a read may be answered with 304: the client has what is there now."""
    wanted = request.headers.get("If-None-Match", "")
    seen = [part.strip().removeprefix("W/") for part in wanted.split(",")]
    return wanted.strip() == "*" or current.removeprefix("W/") in seen

"""Answers: their heads, and how the outputs of a model become one."""

from collections.abc import Callable, Sequence
from typing import Any

from worker_runtime.protocols.http.errors import REASONS
from worker_runtime.protocols.http.heads import Head
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue

Answer = tuple[bytes, Sequence[Any], int]  # head, body parts, body size
Encode = Callable[[Head, InferRequest, Arrays], Answer]
EncodeAny = Callable[
    [Head, InferRequest, Sequence[str], Arrays, dict[str, ParameterValue] | None], Answer
]

_CLOSE = b"\r\nConnection: close\r\n"
_KEEP = b"\r\nConnection: keep-alive\r\n"


def connection_line(head: Head) -> bytes:
    """The line break behind the status line, with what becomes of the connection."""
    return _KEEP if head.keep_alive else _CLOSE


def whole(
    status: int,
    head: Head | None,
    content_type: bytes,
    headers: bytes,
    size: int,
    *,
    close: bool,
) -> bytes:
    """Of an answer whose size is known; ``headers`` are complete lines."""
    line = b"\r\n"
    if close:
        line = _CLOSE
    elif head is not None and head.old_http:
        line = _KEEP
    return b"HTTP/1.1 %d %s%sContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n" % (
        status,
        REASONS[status].encode(),
        line,
        content_type,
        headers,
        size,
    )


def streamed(status: int, head: Head, content_type: bytes, headers: bytes = b"") -> bytes:
    """Of an answer in pieces: chunks, or for HTTP/1.0 all there is until the connection ends.

    ``headers`` are complete lines.
    """
    ends = head.old_http or not head.keep_alive
    return b"HTTP/1.1 %d %s%sContent-Type: %s\r\n%s%s\r\n" % (
        status,
        REASONS[status].encode(),
        _CLOSE if ends else b"\r\n",
        content_type,
        headers,
        b"" if head.old_http else b"Transfer-Encoding: chunked\r\n",
    )

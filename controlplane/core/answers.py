"""Answers of servers that may lie: read to a limit, whatever they say of their length.

Ask with ``PLAIN``: a compressed answer is refused, for a few bytes of it may be gigabytes.
"""

import json
import time
from typing import Any, Final

import httpx

PLAIN: Final = {"accept-encoding": "identity"}


class AnswerRefused(ValueError):
    """It is larger, slower or of another form than it may be."""


def read_answer(response: httpx.Response, *, most: int, seconds: float) -> bytes:
    """The body of a streamed response. Raises AnswerRefused, httpx.HTTPError."""
    body = _begin(response)
    until = time.monotonic() + seconds
    for piece in response.iter_raw():
        _add(body, piece, most)
        if time.monotonic() > until:
            raise AnswerRefused(f"it was not complete after {seconds:g} s")
    return bytes(body)


async def aread_answer(response: httpx.Response, *, most: int) -> bytes:
    """The same; the caller has the deadline."""
    body = _begin(response)
    async for piece in response.aiter_raw():
        _add(body, piece, most)
    return bytes(body)


def json_answer(body: bytes) -> Any:
    """Raises AnswerRefused for what is no JSON, or too deep."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AnswerRefused(f"it is no JSON: {error}") from error


def _begin(response: httpx.Response) -> bytearray:
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise AnswerRefused(f"it came in {encoding[:40]!r}, which nobody asked for")
    return bytearray()


def _add(body: bytearray, piece: bytes, most: int) -> None:
    if len(body) + len(piece) > most:
        raise AnswerRefused(f"it has more than {most} bytes")
    body += piece

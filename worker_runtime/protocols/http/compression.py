"""Content codings: gzip and deflate, both ways, with a bound on what a body may grow to."""

import gzip
import re
import zlib

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.errors import HttpRefusal

_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_ACCEPT = b"Accept-Encoding: gzip, deflate\r\n"
_CODINGS = frozenset({"gzip", "deflate", "identity"})
_QUALITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


def decompress(data: bytes | bytearray | memoryview, coding: str, limit: int) -> bytes:
    """The plain body. Raises HttpRefusal for unknown codings, InvalidArgument for bad data."""
    window = _WINDOW.get(coding)
    if window is None:
        raise HttpRefusal(501, "Unsupported compression type", headers=_ACCEPT)
    if not data:
        raise InvalidArgument("nothing to be decompressed")
    engine = zlib.decompressobj(window)
    try:
        plain = engine.decompress(bytes(data), limit)
        if engine.unconsumed_tail:
            raise InvalidArgument(
                f"Decompressed request size exceeds the maximum allowed value of {limit} bytes. "
                "Use --http-max-input-size to increase the limit."
            )
        plain += engine.flush()
    except zlib.error as error:
        raise InvalidArgument(f"request body is not valid {coding}: {error}") from error
    if not engine.eof:
        raise InvalidArgument(f"request body is not valid {coding}: it ends too early")
    return plain


def compress(data: bytes, coding: str) -> bytes:
    return gzip.compress(data, 6, mtime=0) if coding == "gzip" else zlib.compress(data)


def best_coding(accept: str) -> str:
    """The preferred coding of an Accept-Encoding header; "" for none. Ties keep the first.

    As exact as Triton: names in lower case, and ``;q=`` without a space in it.
    """
    best, best_quality = "identity", 0.0
    for part in accept.split(","):
        name, weighted, weight = part.lstrip(" ").partition(";q=")
        quality = 1.0
        if weighted:
            number = _QUALITY.match(weight)
            if number is None:
                continue
            quality = float(number[1])
        if name in _CODINGS and quality > best_quality:
            best, best_quality = name, quality
    return "" if best == "identity" else best

"""Content codings: gzip and deflate, both ways, with a bound on what a body may grow to."""

import gzip
import zlib

from worker_runtime.protocols.http.errors import HttpRefusal

_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_ACCEPT = b"Accept-Encoding: gzip, deflate\r\n"


def decompress(data: bytes | bytearray | memoryview, coding: str, limit: int) -> bytes:
    """The plain body. Raises HttpRefusal for unknown codings, bad data and bombs."""
    window = _WINDOW.get(coding)
    if window is None:
        raise HttpRefusal(501, f"unsupported Content-Encoding: {coding}", headers=_ACCEPT)
    engine = zlib.decompressobj(window)
    try:
        plain = engine.decompress(bytes(data), limit)
        if engine.unconsumed_tail:
            raise HttpRefusal(413, f"decompressed body exceeds {limit} bytes")
        plain += engine.flush()
    except zlib.error as error:
        raise HttpRefusal(400, f"body is not valid {coding}: {error}") from error
    if not engine.eof:
        raise HttpRefusal(400, f"body is not valid {coding}: it ends too early")
    return plain


def compress(data: bytes, coding: str) -> bytes:
    return gzip.compress(data, 6, mtime=0) if coding == "gzip" else zlib.compress(data)


def best_coding(accept: str) -> str:
    """The preferred coding of an Accept-Encoding header; "" for none. Ties keep the first."""
    best, best_q = "", 0.0
    for part in accept.split(","):
        name, _, parameters = part.partition(";")
        name = name.strip().lower()
        quality = 1.0
        if "q=" in parameters:
            try:
                quality = float(parameters.split("q=", 1)[1])
            except ValueError:
                continue
        if name in ("gzip", "deflate", "identity") and quality > best_q:
            best, best_q = name, quality
    return "" if best == "identity" else best

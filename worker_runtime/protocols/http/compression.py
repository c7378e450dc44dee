"""Content codings: gzip and deflate, both ways, with a bound on what a body may grow to."""

import gzip
import re
import zlib
from collections.abc import Callable

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.protocols.inflating import CODINGS, InflateFault, Packed, inflate

_ACCEPT = b"Accept-Encoding: gzip, deflate\r\n"
_ACCEPTED = CODINGS | {"identity"}
_QUALITY = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)")


def decompress(
    data: Packed,
    coding: str,
    limit: int,
    done: Callable[[bytes], None],
    failed: Callable[[Exception], None],
) -> None:
    """Call ``done`` with the plain body or ``failed`` with an InvalidArgument, at once or later.

    Raises HttpRefusal for unknown codings, InvalidArgument for no data.
    """
    if coding not in CODINGS:
        raise HttpRefusal(501, "Unsupported compression type", headers=_ACCEPT)
    if not data:
        raise InvalidArgument("nothing to be decompressed")

    def inflate_failed(fault: InflateFault) -> None:
        if fault.too_large:
            failed(
                InvalidArgument(
                    f"Decompressed request size exceeds the maximum allowed value of {limit} "
                    "bytes. Use --http-max-input-size to increase the limit."
                )
            )
        else:
            failed(InvalidArgument(f"request body is not valid {coding}: {fault}"))

    inflate(data, coding, limit, done, inflate_failed)


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
        if name in _ACCEPTED and quality > best_quality:
            best, best_quality = name, quality
    return "" if best == "identity" else best

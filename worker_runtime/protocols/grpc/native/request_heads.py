"""Request heads: what a call's header fields say, and which requests are malformed (RFC 9113)."""

import re

import msgspec

_MAX_TIMEOUT_NS = 2**62
_UNIT_NS = {
    "H": 3_600_000_000_000,
    "M": 60_000_000_000,
    "S": 1_000_000_000,
    "m": 1_000_000,
    "u": 1000,
    "n": 1,
}
# What sections 8.2 and 8.3 let stand.
_is_name = re.compile(rb":?[-!#$%&'*+.^_`|~0-9a-z]+").fullmatch
_breaks_lines = re.compile(rb"[\0\r\n]").search
_is_length = re.compile("[0-9]{1,18}").fullmatch
_PSEUDO = frozenset((":method", ":scheme", ":path", ":authority"))
_OF_CONNECTIONS = frozenset(
    ("connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade")
)
_READ_HERE = frozenset(
    ("content-type", "te", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding")
)
_COLON = ord(":")
MALFORMED = 400

Metadata = tuple[tuple[str, str], ...]


class CallHead(msgspec.Struct, frozen=True):
    """What a request's headers say. ``refusal`` is an HTTP status when they are not gRPC's.

    ``timeout_ns`` is 0 without a deadline, ``content_length`` -1 where it is not said.
    ``metadata`` has the client's own headers, in order.
    """

    path: str
    metadata: Metadata
    timeout_ns: int = 0
    encoding: str = "identity"
    accept_encoding: str = ""
    refusal: int = 0
    content_length: int = -1


class _Malformed(Exception):
    """Not a request of HTTP/2."""


def is_field(name: bytes) -> bool:
    """Whether it names a field, of a request or behind one, and no pseudo-header."""
    return _is_name(name) is not None and name[0] != _COLON


def read_head(headers: list[tuple[bytes, bytes]]) -> CallHead:
    """Sort a request's headers by who reads them; a malformed one has MALFORMED as its refusal."""
    try:
        pseudo, fields = _parted(headers)
        content_length = _content_length(fields)
    except _Malformed:
        return CallHead("", (), refusal=MALFORMED)
    read = {name: value for name, value in fields if name in _READ_HERE}
    refusal = 0
    if not read.get("content-type", "").startswith("application/grpc"):
        refusal = 415
    elif pseudo[":method"] != "POST":
        refusal = 405
    return CallHead(
        pseudo[":path"],
        tuple(field for field in fields if field[0] not in _READ_HERE),
        read_timeout(read.get("grpc-timeout", "")),
        read.get("grpc-encoding", "identity"),
        read.get("grpc-accept-encoding", ""),
        refusal,
        content_length,
    )


def _parted(headers: list[tuple[bytes, bytes]]) -> tuple[dict[str, str], Metadata]:
    """Pseudo-headers, each given once and before all others, and fields. Raises _Malformed."""
    pseudo: dict[str, str] = {}
    fields: list[tuple[str, str]] = []
    for raw_name, raw_value in headers:
        if not _is_name(raw_name) or _breaks_lines(raw_value):
            raise _Malformed
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if raw_name[0] != _COLON:
            if name in _OF_CONNECTIONS or (name == "te" and value != "trailers"):
                raise _Malformed
            fields.append((name, value))
        elif fields or name in pseudo or name not in _PSEUDO:
            raise _Malformed
        else:
            pseudo[name] = value
    if not (pseudo.get(":method") and pseudo.get(":scheme") and pseudo.get(":path")):
        raise _Malformed
    return pseudo, tuple(fields)


def _content_length(fields: Metadata) -> int:
    """-1 where it is not said. Raises _Malformed."""
    found = {value for name, value in fields if name == "content-length"}
    if not found:
        return -1
    (value, *others) = found
    if others or not _is_length(value):
        raise _Malformed
    return int(value)


def read_timeout(text: str) -> int:
    """``grpc-timeout`` in nanoseconds; 0 (no deadline) for what is not one."""
    digits, unit = text[:-1], text[-1:]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 8 or unit not in _UNIT_NS:
        return 0
    # why at least 1: a deadline that is already over is still a deadline.
    return min(max(int(digits) * _UNIT_NS[unit], 1), _MAX_TIMEOUT_NS)

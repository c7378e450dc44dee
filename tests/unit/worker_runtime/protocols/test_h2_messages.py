"""Length-prefixed messages, cut anywhere, compressed or not."""

import gzip
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.protocols.grpc.native.messages import (
    Assembler,
    MessageFault,
    encoding_for,
    framed,
)
from worker_runtime.types.listening import CompressionLevel


@given(st.lists(st.binary(max_size=60), max_size=8), st.lists(st.integers(1, 25), max_size=60))
def test_messages_survive_any_cut(messages: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(framed(message) for message in messages)
    assembler, found, at = Assembler("identity"), [], 0
    for size in [*cuts, len(stream) or 1]:
        piece = stream[at : at + size]
        at += size
        if piece:
            found += assembler.feed(piece)
    assert found == messages
    assert assembler.empty


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_compressed_both_ways(encoding: str, level: str) -> None:
    message = b"abc" * 1000
    packed = framed(message, encoding, CompressionLevel(level))
    assert packed[0] == 1
    assert len(packed) < 200
    assert Assembler(encoding).feed(packed) == [message]


def flagged(flag: int, payload: bytes) -> bytes:
    return struct.pack(">BI", flag, len(payload)) + payload


@pytest.mark.parametrize(
    ("encoding", "data", "status"),
    [
        ("identity", flagged(1, b"x"), 13),
        ("identity", flagged(2, b"x") + b"more", 13),
        ("gzip", flagged(1, b"not gzip"), 13),
        ("gzip", flagged(1, gzip.compress(b"hello", mtime=0)[:-4]), 13),
        ("deflate", flagged(1, zlib.compress(b"hello")[:-2]), 13),
        ("identity", struct.pack(">BI", 0, 2**31) + b"x", 8),
    ],
)
def test_what_cannot_be_read_has_a_status(encoding: str, data: bytes, status: int) -> None:
    with pytest.raises(MessageFault) as caught:
        Assembler(encoding).feed(data)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("level", "accepted", "encoding"),
    [
        ("none", "gzip", ""), ("low", "identity,deflate,gzip", "gzip"),
        ("high", "identity,deflate,gzip", "deflate"), ("medium", "gzip", "gzip"),
        ("low", "identity, deflate", "deflate"), ("low", "", ""), ("low", "br", ""),
    ],
)  # fmt: skip
def test_answers_are_compressed_only_for_who_accepts_it(
    level: str, accepted: str, encoding: str
) -> None:
    assert encoding_for(CompressionLevel(level), accepted) == encoding

"""Header blocks: what is cached is right, what is sent is readable, and timeouts are read."""

import tracemalloc
from urllib.parse import unquote

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.protocols.grpc.native import header_blocks as blocks
from worker_runtime.protocols.grpc.native.frames import ConnectionFault, ErrorCode
from worker_runtime.protocols.grpc.native.header_blocks import read_timeout

BASE = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/inference.GRPCInferenceService/ModelInfer"),
    ("content-type", "application/grpc"),
]


def read(block: bytes) -> list[tuple[str, str]]:
    return [(str(k), str(v)) for k, v in hpack.Decoder().decode(block)]


def test_a_settled_client_is_answered_from_the_cache_and_understood_every_time() -> None:
    encoder, decoder = hpack.Encoder(), blocks.HeaderDecoder()
    heads = [decoder.head(encoder.encode([*BASE, ("a", "1")])) for _ in range(4)]
    assert all(head == heads[0] for head in heads)
    assert heads[2] is heads[3]
    assert heads[0].metadata == (("a", "1"),)


def test_the_cache_forgets_when_the_table_moves() -> None:
    encoder, decoder = hpack.Encoder(), blocks.HeaderDecoder()
    encoder.header_table_size = 4096
    for value in ("1", "2", "1", "3", "2", "2", "1"):
        assert decoder.head(encoder.encode([*BASE, ("a", value)])).metadata == (("a", value),)


@given(st.lists(st.sampled_from(["", "x", "yy", "zzz", "w" * 40]), min_size=1, max_size=30))
def test_whatever_order_values_come_in_the_decoder_keeps_step(values: list[str]) -> None:
    encoder, decoder = hpack.Encoder(), blocks.HeaderDecoder()
    encoder.header_table_size = 120  # so small that entries fall out all the time
    for value in values:
        assert decoder.head(encoder.encode([*BASE, ("k", value)])).metadata == (("k", value),)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1H", 3_600_000_000_000), ("2M", 120_000_000_000), ("3S", 3_000_000_000),
        ("99999999m", 99_999_999_000_000), ("5u", 5000), ("7n", 7), ("0n", 1),
        ("", 0), ("S", 0), ("-1S", 0), ("1.5S", 0), ("123456789S", 0), ("1x", 0), ("²S", 0),
    ],
)  # fmt: skip
def test_timeouts(text: str, ns: int) -> None:
    assert read_timeout(text) == ns


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        (BASE, 0),
        ([(":method", "GET"), *BASE[1:]], 405),
        (BASE[:3], 415),
        ([*BASE[:3], ("content-type", "application/json")], 415),
        ([*BASE[:3], ("content-type", "application/grpc+proto")], 0),
    ],
)
def test_only_grpc_requests_are_taken(headers: list[tuple[str, str]], refusal: int) -> None:
    assert blocks.HeaderDecoder().head(hpack.Encoder().encode(headers)).refusal == refusal


@pytest.mark.parametrize("block", [b"\xff\xff\xff\xff\xff", b"\x00", b"\xbf", b"\x00\x05ab"])
def test_broken_blocks_end_the_connection(block: bytes) -> None:
    with pytest.raises(ConnectionFault) as caught:
        blocks.HeaderDecoder().head(block)
    assert caught.value.code is ErrorCode.COMPRESSION_ERROR


@given(st.text(max_size=300))
def test_messages_of_any_text_arrive_percent_encoded(text: str) -> None:
    if text.encode("utf-8", "replace") != text.encode("utf-8", "surrogatepass"):
        return
    headers = dict(read(blocks.trailers(3, text)))
    assert headers["grpc-status"] == "3"
    raw = headers.get("grpc-message", "")
    assert raw.isascii()

    assert unquote(raw) == text


def test_the_constant_blocks_read_back() -> None:
    assert read(blocks.RESPONSE)[:2] == [(":status", "200"), ("content-type", "application/grpc")]
    assert read(blocks.OK_TRAILERS) == [("grpc-status", "0")]
    assert ("grpc-encoding", "gzip") in read(blocks.response_headers("gzip"))
    assert read(blocks.status_line(415)) == [(":status", "415")]
    long = "v" * 5000
    assert read(blocks.literal(b"name", long.encode())) == [("name", long)]


def test_what_is_kept_of_a_client_is_bounded_by_what_it_unpacks_to() -> None:
    """A byte of a block may be a field of four thousand: 256 blocks were 15 MiB a connection."""
    decoder = blocks.HeaderDecoder()
    decoder.head(b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000)  # enters the table
    tracemalloc.start()
    try:
        for number in range(1000):
            decoder.head(b"\xbe" * 15 + b"\x00\x01b\x03%03d" % number)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2**20
    again = b"\xbe\x00\x01b\x03abc"
    assert decoder.head(again) is decoder.head(again), "what is small is kept"


@pytest.mark.parametrize(
    "block",
    [
        b"\x20" * 3,
        b"\x20" * 2**16,
        b"\x3f\xe1\x1f\x20\x3f\xe1\x1f",
        b"\x20" * (2**16 + 1),
        b"\x00\x01a\xff" + b"\xff" * 2**16,
        bytes(2**20),
    ],
)
def test_a_block_that_is_slow_to_read_ends_the_connection(block: bytes) -> None:
    """A frame of a megabyte with nothing but sizes of tables held all calls up for seconds."""
    with pytest.raises(ConnectionFault):
        blocks.HeaderDecoder().head(block)


def test_two_updates_of_the_tables_size_are_usual() -> None:
    decoder = blocks.HeaderDecoder()
    block = hpack.Encoder().encode([*BASE, ("a", "b")])
    assert decoder.head(b"\x20\x3f\xe1\x1f" + block).metadata == (("a", "b"),)
    assert decoder.head(b"\x20" + block).metadata == (("a", "b"),)

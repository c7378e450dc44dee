"""Header blocks: what is cached is right, what is sent is readable, and timeouts are read."""

import tracemalloc
from urllib.parse import unquote

import hpack
import pytest
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.protocols.grpc.native import header_blocks as blocks
from worker_runtime.protocols.grpc.native import huffman
from worker_runtime.protocols.grpc.native.frames import ConnectionFault, ErrorCode
from worker_runtime.protocols.grpc.native.header_blocks import read_timeout

BASE = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/inference.GRPCInferenceService/ModelInfer"),
    ("content-type", "application/grpc"),
]

# What Envoy 1.40 wrote for its first calls on a connection: each has an id of its own.
BY_ENVOY = (
    "8386049f60d54a5b0b510abe2dbaef64aa52d85a885dc5b3b98856341e42d192a94b674186a0e41d139d0940"
    "027465864d833505b11f5f8b1d75d0620d263d4c4d65647a8b9acac8b57e9339ea602b83408e9acac8b0c842"
    "d6958b510f21aa9b913485a9264fafa5242cb40d25fa526f66af408cf2b22738e858b54959cd527f848cb512"
    "7f408bf2b4a7b3c0ec90b22d29ec870be25c0b89717f408df2b4a7b3c0ec90b22d5d8749ff839d29af4092f2"
    "b16aee7f4b17ca4b6543a161c92585423f87089d5c0b8170ff4089f2b585ed6950958d279a0ca090128df5a3"
    "20a559a786facfb4279692476371b8c838d9734096f2b16aee7f4b17cd65224b22d6765926a4a7b52b528f84"
    "7000003f",
    "8386049f60d54a5b0b510abe2dbaef64aa52d85a885dc5b3b98856341e42d192a94b67c8c7c6c5c4c3c2c1c0"
    "7f009a71b8c220c6e2cf3c17d66a364ab0c019160c64900e00ad38f87fbf",
    "8386049f60d54a5b0b510abe2dbaef64aa52d85a885dc5b3b98856341e42d192a94b67c9c8c7c6c5c4c3c2c1"
    "7e9a6dc91a0b857968c0dc8b34119561942facf05d7c4f36eb32364fc0",
)


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


@given(st.binary(max_size=40))
def test_huffmans_code_is_read_as_hpack_reads_it(code: bytes) -> None:
    try:
        expected = decode_huffman(code)
    except hpack.HPACKDecodingError as error:
        with pytest.raises(hpack.HPACKDecodingError, match=str(error)):
            huffman.decoded(code)
    else:
        assert huffman.decoded(code) == expected


@given(st.binary(max_size=60))
def test_texts_come_back_out_of_huffmans_code(text: bytes) -> None:
    code = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(text)
    assert huffman.decoded(code) == text


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


def test_an_update_of_the_tables_size_counts_each_time() -> None:
    """Two blocks that change nothing but the size were answered from the cache, without it."""
    decoder, usual = blocks.HeaderDecoder(), hpack.Decoder()
    plain = hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(n, v) for n, v in BASE])
    small, large, none = b"\x3f\x45" + plain, b"\x3f\xe1\x1f" + plain, b"\x20" + plain
    enters = plain + b"\x40\x01a\x50" + b"v" * 80
    for block in (small, large, small, enters, large, enters, none, large, none, enters):
        usual.decode(block, raw=True)
        decoder.head(block)
        table, other = decoder._decoder.header_table, usual.header_table
        assert (table.maxsize, table.dynamic_entries) == (other.maxsize, other.dynamic_entries)


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([b"1", b"2", b"w" * 60]), max_size=2),
            st.sampled_from([None, None, 0, 90, 120, 4096]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_whatever_is_cached_the_table_is_that_of_hpack(
    calls: list[tuple[list[bytes], int | None, bool]],
) -> None:
    encoder, decoder, usual = hpack.Encoder(), blocks.HeaderDecoder(), hpack.Decoder()
    for values, size, enters in calls:
        if size is not None:
            encoder.header_table_size = size
        kind = hpack.HeaderTuple if enters else hpack.NeverIndexedHeaderTuple
        fields = [kind(n, v) for n, v in BASE] + [kind(b"k", value) for value in values]
        block = encoder.encode(fields)
        expected = [(bytes(n), bytes(v)) for n, v in usual.decode(block, raw=True)]
        assert decoder.head(block) == blocks.read_head(expected)
        table, other = decoder._decoder.header_table, usual.header_table
        assert (table.maxsize, table.dynamic_entries) == (other.maxsize, other.dynamic_entries)


def test_envoys_calls_are_read_though_each_changes_the_table() -> None:
    decoder, usual = blocks.HeaderDecoder(), hpack.Decoder()
    heads = [decoder.head(bytes.fromhex(block)) for block in BY_ENVOY]
    assert {head.refusal for head in heads} == {0}
    for block, head in zip(BY_ENVOY, heads, strict=True):
        fields = [(str(name), str(value)) for name, value in usual.decode(bytes.fromhex(block))]
        assert head.path == dict(fields)[":path"]
        assert [field for field in fields if field in head.metadata] == list(head.metadata)
    assert len({dict(head.metadata)["x-request-id"] for head in heads}) == 3


def test_envoys_later_calls_need_nothing_of_hpacks_slow_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = blocks.HeaderDecoder()
    decoder.head(bytes.fromhex(BY_ENVOY[0]))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("hpack was asked")

    monkeypatch.setattr(hpack.Decoder, "decode", refuse)
    for block in BY_ENVOY[1:]:
        assert decoder.head(bytes.fromhex(block)).refusal == 0


def test_heads_are_known_again_without_the_ids_of_gateways(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder, first = blocks.HeaderDecoder(), blocks.HeaderDecoder()
    for block in BY_ENVOY[:2]:
        decoder.head(bytes.fromhex(block))
        first.head(bytes.fromhex(block))
    first._apart.clear()
    expected = first.head(bytes.fromhex(BY_ENVOY[2]))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("all fields were read")

    monkeypatch.setattr(blocks, "read_head", refuse)
    found = decoder.head(bytes.fromhex(BY_ENVOY[2]))
    assert found == expected
    assert found.request_id.decode() == dict(found.metadata)["x-request-id"] != ""


IDS = [b"", b"1", b"order-1", b"a\nb", b"\xff", b"0" * 64, b"0" * 65, b"9f1c3f8e-6a7e-4d0c-8b2d-00"]
BEFORE = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/s/m")]
BEHIND_THEM = [
    *BEFORE[2:],  # given twice, or in the wrong place: malformed
    (b"content-type", b"application/grpc"),
    (b"content-type", b"text/plain"),
    (b"grpc-timeout", b"1S"),
    (b"a", b"b"),
    (b"x-request-id", b"another"),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(IDS),
            st.lists(st.sampled_from(BEHIND_THEM), max_size=4),
            st.integers(0, 7),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_heads_with_ids_are_what_their_fields_say(
    calls: list[tuple[bytes, list[tuple[bytes, bytes]], int, bool]],
) -> None:
    encoder, decoder = hpack.Encoder(), blocks.HeaderDecoder()
    for request_id, behind, at, shortened in calls:
        fields = [*BEFORE, *behind]
        fields.insert(at, (b"x-request-id", request_id))
        block = encoder.encode(fields, huffman=shortened)
        assert decoder.head(block) == blocks.read_head(fields)


def test_what_is_kept_of_heads_without_their_ids_is_bounded() -> None:
    encoder, decoder = hpack.Encoder(), blocks.HeaderDecoder()
    for number in range(100):
        fields = [*BASE, ("x-request-id", str(number)), ("a", str(number) * (number % 2 * 3000))]
        assert decoder.head(encoder.encode(fields)).request_id == str(number).encode().ljust(15)
    kept = [sum(len(n) + len(v) for n, v in rest) for _, rest in decoder._apart]
    assert 0 < len(kept) <= 16
    assert max(kept) <= 4096


NAMES = st.sampled_from(
    [b":path", b":authority", b"te", b"x-request-id", b"a", b"cookie", b"b" * 90]
)
VALUES = st.binary(max_size=3) | st.sampled_from([b"/v" * 62, b"w" * 126, b"w" * 127, b"w" * 400])
FIELDS = st.lists(st.tuples(NAMES, VALUES, st.booleans()), max_size=8)
BEHIND = st.sampled_from(
    [
        b"",
        b"",
        b"\x80",
        b"\xff\x00",
        b"\x20",
        b"\x7f\x00\x01a",
        b"\x0f\x30\x01a",
        b"\x41",
        b"\x04\x05a",
    ]
)


@given(
    calls=st.lists(
        st.tuples(FIELDS, st.booleans(), st.sampled_from([None, None, None, 0, 90, 4096]), BEHIND),
        max_size=8,
    )
)
def test_blocks_are_read_as_hpack_reads_them(
    calls: list[tuple[list[tuple[bytes, bytes, bool]], bool, int | None, bytes]],
) -> None:
    """Whatever they say of the table, and whatever of them is read the quick way."""
    encoder, decoder, usual = hpack.Encoder(), blocks.HeaderDecoder(), hpack.Decoder()
    for fields, shortened, size, behind in calls:
        if size is not None:
            encoder.header_table_size = size
        block = encoder.encode(fields, huffman=shortened) + behind
        try:
            expected = [(bytes(n), bytes(v)) for n, v in usual.decode(block, raw=True)]
        except (hpack.HPACKError, IndexError):
            with pytest.raises(ConnectionFault):
                decoder.head(block)
            return
        assert decoder._decoded(block) == expected
        table, other = decoder._decoder.header_table, usual.header_table
        assert table.dynamic_entries == other.dynamic_entries
        assert table.maxsize == other.maxsize


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (b"\x83\x20", ErrorCode.COMPRESSION_ERROR),  # an update behind a field
        (b"\xbe", ErrorCode.COMPRESSION_ERROR),  # an entry that is not there
        (b"\x44\x85\xff\xff\xff\xff\xff", ErrorCode.COMPRESSION_ERROR),  # no Huffman's code
        (b"\x44\x05/", ErrorCode.COMPRESSION_ERROR),  # cut off
        (b"\x82" * 1600, ErrorCode.ENHANCE_YOUR_CALM),
        (b"\x82" * 1500 + b"\x00\x01a\x01b" * 800, ErrorCode.ENHANCE_YOUR_CALM),
    ],
)
def test_what_the_quick_way_must_refuse(block: bytes, code: ErrorCode) -> None:
    with pytest.raises(ConnectionFault) as refused:
        blocks.HeaderDecoder().head(block)
    assert refused.value.code is code


def test_what_is_kept_of_fields_is_bounded() -> None:
    decoder = blocks.HeaderDecoder()
    for number in range(1000):
        path = hpack.NeverIndexedHeaderTuple(":path", f"/{number}")
        block = hpack.Encoder().encode([(":method", "POST"), path, (":scheme", "http")])
        assert decoder.head(block).path == f"/{number}"
        assert len(decoder._fields) <= 128
        assert len(decoder._texts) <= 128


@pytest.mark.parametrize("letter", ["a", "%", "\u00e4", "\U0001f600"])
def test_long_messages_fit_into_what_clients_take(letter: str) -> None:
    """A name of 8 MB in an error took 1.5 s to write, and clients hung up on the frame."""
    block = blocks.trailers(3, letter * 8_000_000)
    assert len(block) < 8192
    message = unquote(dict(read(block))["grpc-message"])
    assert message == letter * (len(message) - 3) + "..."
    assert unquote(dict(read(blocks.trailers(3, letter * 500)))["grpc-message"]) == letter * 500

"""JSON that the quick decoders refuse: told exactly where it is small, quickly where it is not."""

import pytest

from worker_runtime.protocols.http import json_parser
from worker_runtime.protocols.http.json_values import BadJson

LONG = b"1," * 20_000
FIRST = len(LONG) + 1


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (b"1 1]", f"Missing a comma or a closing bracket. at {FIRST + 2}"),
        (b'{"a" 1}]', f"Missing a colon after a name of object member. at {FIRST + 5}"),
        (b"{1:1}]", f"Missing a name for object member. at {FIRST + 1}"),
        (b'"a', f"Missing a closing quotation mark in string. at {FIRST}"),
        (b'"\\x"]', f"Invalid escape character in string. at {FIRST + 1}"),
        (b'"\\u12"]', f"Incorrect hex digit after \\u escape in string. at {FIRST + 2}"),
        (b"1] 1", f"The document root must not be followed by other values. at {FIRST + 3}"),
        (b"1e0999]", "Number too big to be stored in double. at 0"),
        (b"x]", f"Invalid value. at {FIRST}"),
    ],
)
def test_what_is_wrong_with_a_large_document_is_told_without_reading_it_slowly(
    monkeypatch: pytest.MonkeyPatch, end: bytes, words: str
) -> None:
    """The slow reader held the event loop up for a second for each megabyte."""
    monkeypatch.setattr(json_parser, "_Parser", None)
    with pytest.raises(BadJson) as refused:
        json_parser.read(b"[" + LONG + end)
    assert str(refused.value) == f"failed to parse the request JSON buffer: {words}"


def test_what_no_standard_knows_is_read_in_large_documents_too() -> None:
    found = json_parser.read(b"[" + LONG + b'NaN,-Infinity,"\xff"]')
    assert found[-2:] == [float("-inf"), "\udcff"]
    assert found[-3] != found[-3]


@pytest.mark.parametrize("wrong", [b"\0", b"x", b"}"])
def test_a_huge_document_that_nobody_reads_is_not_decoded(wrong: bytes) -> None:
    """What a bomb unpacks to is refused at its first byte, as quickly as that."""

    class Undecodable(bytes):
        def decode(self, *_: object) -> str:  # type: ignore[override] # never called
            raise AssertionError("decoded")

    with pytest.raises(BadJson, match=r"Invalid value\. at 3"):
        json_parser.read(Undecodable(b"[1," + wrong * 2_000_000))


def test_a_huge_document_with_numbers_that_are_not_finite_is_read() -> None:
    found = json_parser.read(b"[" + b"1," * 600_000 + b"-Infinity]")
    assert found[-1] == float("-inf")

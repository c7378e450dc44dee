"""Which bytes a Range asks for."""

import pytest

from controlplane.core.sending import byte_range


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("", (0, 9)),
        ("bytes=4-", (4, 9)),
        ("bytes=4-6", (4, 6)),
        ("bytes=004-99", (4, 9)),
        ("bytes=10-", None),
        ("bytes=6-4", None),
        (f"bytes={'9' * 5000}-", None),
        (f"bytes=1-{'9' * 5000}", (1, 9)),
        (f"bytes={'0' * 5000}1-", (1, 9)),
        ("bytes=-5", (0, 9)),
        ("bytes=0-1,3-4", (0, 9)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_span(header: str, span: tuple[int, int] | None) -> None:
    assert byte_range(header, 10) == span

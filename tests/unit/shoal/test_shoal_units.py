"""Numbers read as the studio writes them."""

from datetime import UTC, datetime

import pytest

from shoal.display.units import byte_count, duration, moment


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (15 << 20, "15.0 MiB"),
        (5 << 40, "5.00 TiB"),
    ],
)
def test_bytes_are_binary_with_three_figures(count: int, text: str) -> None:
    assert byte_count(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000766, "766 µs"),
        (0.00439, "4.39 ms"),
        (0.128, "128 ms"),
        (1.24, "1.24 s"),
        (192, "3.20 min"),
    ],
)
def test_durations_choose_their_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_recent_moments_are_relative() -> None:
    now = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
    assert moment("2026-11-21T03:59:30Z", now) == "30 s ago"
    assert moment("2026-11-21T03:56:00Z", now) == "4 min ago"
    assert moment("2026-11-20T10:00:00Z", now) == "18 h ago"
    assert moment("2026-11-01T12:00:00Z", now).startswith("2026-11-01")
    assert moment(None, now) == "–"

"""How bad a line is."""

import pytest

from controlplane.metrics.log_levels import is_level, level_of


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("E1121 14:00:00 model.cc] no", "error"),
        ("ERROR: it broke", "error"),
        ("[E model.cc] no", "error"),
        ("F0102 gone", "error"),
        ("2026-11-21 12:00 [CRITICAL] out of memory", "error"),
        ("2026-11-21 WARNING slow", "warn"),
        ("W1121 late", "warn"),
        ("[WARN] late", "warn"),
        ("Errors are counted", ""),
        ("I1121 ready", ""),
        ("Everything is well", ""),
        ("", ""),
    ],
)
def test_a_line_tells_its_level(text: str, level: str) -> None:
    assert level_of(text) == level


@pytest.mark.parametrize(
    ("text", "least", "fits"),
    [
        ("I ready", "", True),
        ("I ready", "warn", False),
        ("WARNING slow", "warn", True),
        ("ERROR no", "warn", True),
        ("WARNING slow", "error", False),
        ("ERROR no", "error", True),
    ],
)
def test_what_is_worse_is_there_too(text: str, least: str, fits: bool) -> None:
    assert is_level(text, least) is fits

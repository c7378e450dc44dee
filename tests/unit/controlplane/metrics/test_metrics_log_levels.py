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
        ("2026-11-27 17:14:20.712 [E:onnxruntime:, session.cc:777 Run] no node", "error"),
        ("2026-11-27 17:14:20.712 [W:onnxruntime:Default, env.cc:368] late", "warn"),
        ("2026-11-27 17:14:20.712 [I:onnxruntime:, session.cc:539] off", ""),
        ("[W1127 17:14:20.712 NNPACK.cpp:61] no NNPACK", "warn"),
        ("[E1127 17:14:20.712 init.cpp:9] no", "error"),
        ("Traceback (most recent call last):", "error"),
        ("ValueError: could not broadcast", "error"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory", "error"),
        ("/opt/model.py:3: UserWarning: late", "warn"),
        ("2026-11-27T17:14:20Z E 4242 model.py:10] no", "error"),
        ('2026-11-27T17:14:20Z I 4242 model.py:10] "ERROR"', ""),
        ('I1127 17:14:20.712 4242 model.py:10] "a caller sent ERROR"', ""),
        ('{"time": "2026-11-27T17:14:20Z", "level": "ERROR", "message": "no"}', "error"),
        ('{"time": "2026-11-27T17:14:20Z", "level": "INFO", "message": "ERROR"}', ""),
        ("F-score 0.93, E-mail sent", ""),
        ("W-9 forms", ""),
        ("no ValueError: none was raised", ""),
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

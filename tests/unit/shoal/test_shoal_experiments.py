"""``shoal experiment show``: what it asks for, and how it tells of it."""

import json
from typing import Any

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent

Capture = pytest.CaptureFixture[str]
BLUE: dict[str, Any] = {
    "deployment": "blue", "model": "net", "version": 1, "revision": 1, "asked_percent": 75,
    "measured_percent": 74.6, "rules": [], "requests": 1800, "failed": 0, "refused": 0,
    "failed_share": 0.0, "failed_low": 0.0, "failed_high": 0.0021, "p50_us": 900.0,
    "p95_us": 1500.0, "p99_us": None, "missing": 0, "verdict": "no_difference",
    "text": "The others are compared with blue.", "differences": [], "golden": None,
    "answers": None,
}  # fmt: skip
GREEN = BLUE | {
    "deployment": "green", "version": 2, "asked_percent": 25, "requests": 90, "missing": 110,
    "failed_share": None, "measured_percent": None, "verdict": "too_little_data",
    "text": "Too little for a verdict.", "golden": {"text": "green answers 1 of 3 otherwise."},
    "answers": {"differed": 2, "inputs": 30},
}  # fmt: skip
FOUND = {
    "endpoint": "net", "seconds": 3600.0, "baseline": "blue", "interval": 0.95,
    "changed_at": None, "notes": ["Clients stay."], "arms": [BLUE, GREEN],
}  # fmt: skip


def test_it_shows_arms_verdicts_and_what_is_missing(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "GET /endpoints/net/experiment", FOUND, FOUND)
    assert main(["experiment", "show", "net", "--baseline", "blue", "--range", "60"]) == 0
    told = capsys.readouterr().out
    blue, green = (line for line in told.splitlines() if line[:5].strip() in ("blue", "green"))
    assert ("75 %" in blue, "74.6 %" in blue, "0.00 % (0.00 % to 0.21 %)" in blue) == (True,) * 3
    assert blue.endswith("baseline")
    assert green.endswith("110 requests missing")
    for text in ("green answers 1 of 3", "2 of 30 inputs", "Note: Clients stay."):
        assert text in told
    assert main(["experiment", "show", "net", "-o", "json"]) == 0
    assert len(sent.bodies) == 2
    assert json.loads(capsys.readouterr().out) == FOUND


def test_a_range_that_nobody_keeps_is_refused(installed: FakeServer) -> None:
    assert main(["experiment", "show", "net", "--range", "59"]) == 2


OUTPUT = {
    "model": "net", "output": "y", "compared": 9, "agreed": 9, "schema": 0, "schema_text": "",
    "largest": 0.0, "rows": 9, "best": 9,
}  # fmt: skip
ARM = {
    "deployment": "blue", "compared": 9, "agreed": 9, "refused": 0, "unanswered": 0, "schema": 0,
    "golden": {"cases": 0, "wrong": 0, "unanswered": 0}, "outputs": [OUTPUT],
}  # fmt: skip
WORDS = OUTPUT | {"output": "words", "rows": 0, "best": 0, "largest": None, "schema": 1}
COMPARED: dict[str, Any] = {
    "endpoint": "net", "baseline": "blue", "seconds": 0.25,
    "sources": [
        {"source": "golden", "deployment": "", "found": 2, "asked": 2},
        {"source": "captured", "deployment": "blue", "found": 7, "asked": 7},
        {"source": "captured", "deployment": "green", "found": 0, "asked": 0},
    ],
    "missing": [{"code": "no_capture", "deployment": "green", "count": 0,
                 "text": "green captures no inputs."}],
    "arms": [
        ARM,
        ARM | {
            "deployment": "green", "agreed": 4, "refused": 1, "unanswered": 2,
            "golden": {"cases": 2, "wrong": 1, "unanswered": 0},
            "outputs": [OUTPUT | {"agreed": 4, "best": 8, "largest": 0.61234567}, WORDS],
        },
    ],
    "differing": [
        {"deployment": "green", "source": "captured", "model": "net", "case": "",
         "captured_by": "blue", "captured_at": "", "file": "a" * 32, "line": 3,
         "text": "y 1 of 2 values differ", "inputs": [], "outputs": []},
        {"deployment": "green", "source": "golden", "model": "net", "case": "seven",
         "captured_by": "", "captured_at": "", "file": "", "line": 0, "text": "no (400)",
         "inputs": [], "outputs": []},
    ],
}  # fmt: skip


def test_answers_are_compared_and_told_by_output(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "POST /endpoints/net/experiment/answers", COMPARED)
    assert main(["experiment", "compare", "net", "--inputs", "7", "--baseline", "blue"]) == 0
    assert sent.bodies == [
        {"inputs": 7, "hours": 24, "relative": 0.001, "absolute": 1e-05, "baseline": "blue"}
    ]
    told = capsys.readouterr().out
    rows = [line for line in told.splitlines() if "net/" in line]
    assert "9 of 9" in rows[0]
    assert ("4 of 9" in rows[1], "8 of 9" in rows[1], rows[1].endswith("0.6123")) == (True,) * 3
    assert rows[2].split()[-2:] == ["other", "–"]
    for text in (
        "Asked 2 of 2 golden cases, 7 of 7 captured requests of blue, in 250 ms.",
        "blue agrees with itself when it was asked again in 9 of 9 inputs.",
        "green agrees with blue in 4 of 9 inputs; refused 1; did not answer 2; 1 of 2 golden cases "
        "are not as expected.",
        "Missing: green captures no inputs.",
        "green, net (blue, aaaaaaaaaaaa:3): y 1 of 2 values differ",
        "green, net (seven): no (400)",
    ):
        assert text in told


def test_more_inputs_than_are_asked_are_refused(installed: FakeServer) -> None:
    assert main(["experiment", "compare", "net", "--inputs", "201"]) == 2

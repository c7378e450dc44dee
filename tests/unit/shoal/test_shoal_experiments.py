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

"""``shoal autoscale preview``: the policy of a file, or the one that there is, over what was."""

from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent

Capture = pytest.CaptureFixture[str]
PATH = "POST /endpoints/quote/deployments/blue/autoscale/preview"
FOUND: dict[str, Any] = {
    "least": 1, "most": 4, "replica_hours": 38.2, "seconds": 86_400.0, "measured_s": 84_600.0,
    "ignored": ["queue_ms"],
    "changes": [{"at": 1_772_438_400.0, "count": 2, "reason": "2 replicas: 6.1 in flight"}],
}  # fmt: skip
FILE = """
name: blue
endpoint_name: quote
model: azureml:quote:1
autoscale:
  max: 4
  targets: {in_flight: 2}
"""


def test_what_would_have_run_is_told_with_its_reasons(
    installed: FakeServer, capsys: Capture
) -> None:
    sent = Sent(installed, PATH, FOUND)
    assert main(["autoscale", "preview", "quote", "blue"]) == 0
    assert sent.bodies == [{"autoscale": None, "hours": 24}]
    out = capsys.readouterr().out
    for text in ("24 h: 1 to 4, 38.2 replica-hours", "23.5 h were measured", "queue_ms is left out",
                 "2 replicas: 6.1 in flight"):  # fmt: skip
        assert text in out


def test_the_policy_of_a_file_is_asked_for(installed: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "blue.yml").write_text(FILE)
    sent = Sent(installed, PATH, FOUND | {"least": 1, "most": 1, "changes": []})
    asked = ["autoscale", "preview", "quote", "blue", "-f", str(tmp_path / "blue.yml")]
    assert main([*asked, "--hours", "48"]) == 0
    (body,) = sent.bodies
    assert (body["autoscale"]["max"], body["autoscale"]["targets"]) == (4, {"in_flight": 2})
    assert body["hours"] == 48


def test_nothing_measured_is_said(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, PATH, FOUND | {"measured_s": 0.0, "changes": []})
    assert main(["autoscale", "preview", "quote", "blue"]) == 0
    assert capsys.readouterr().out == "Nothing was measured in the last 24 h.\n"


def test_a_file_without_a_policy_is_refused(
    installed: FakeServer, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "blue.yml").write_text(FILE.partition("autoscale:")[0])
    asked = ["autoscale", "preview", "quote", "blue", "-f", str(tmp_path / "blue.yml")]
    assert main(asked) == 2
    assert "has no `autoscale:`" in capsys.readouterr().err

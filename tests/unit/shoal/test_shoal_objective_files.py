"""Objectives in endpoints' files: taken, shown as they were written, compared, and refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.cli.main import main
from shoal.entities import ManagedOnlineEndpoint, Objective, load_online_endpoint
from shoal.sdk.shapes import endpoint_body
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
ANSWERED = {"name": "answered", "kind": "availability", "target_percent": 99.9}
QUICK = {"name": "quick", "kind": "latency", "target_percent": 99, "threshold_ms": 250}
WHOLE = [
    {**ANSWERED, "window_days": 28, "threshold_ms": None},
    {**QUICK, "window_days": 28},
]
Write = Callable[[list[dict[str, Any]]], None]


@pytest.fixture
def write(installed: FakeServer, tmp_path: Path) -> Write:
    """Writes ``endpoint.yml`` with these objectives."""

    def written(objectives: list[dict[str, Any]]) -> None:
        text = yaml.safe_dump({"name": "quote", "objectives": objectives})
        (tmp_path / "endpoint.yml").write_text(text)

    return written


def applied(capsys: Capture, *options: str) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["apply", "-f", "endpoint.yml", "-o", "json", *options]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_they_are_made_shown_and_made_again_without_a_change(
    installed: FakeServer, write: Write, capsys: Capture, tmp_path: Path
) -> None:
    write([QUICK, ANSWERED])
    assert applied(capsys)[0]["action"] == "create"
    assert installed.endpoints["quote"]["objectives"] == WHOLE
    assert applied(capsys)[0]["action"] == "none"
    # what `show` prints is a file that changes nothing
    assert main(["online-endpoint", "show", "-n", "quote", "-o", "yaml"]) == 0
    shown = tmp_path / "shown.yml"
    shown.write_text(capsys.readouterr().out)
    assert yaml.safe_load(shown.read_text())["objectives"] == [
        {**ANSWERED, "window_days": 28},
        {**QUICK, "window_days": 28},
    ]
    sent: list[dict[str, Any]] = []
    installed.fail_next(
        "PATCH /endpoints/quote", lambda asked: sent.append(json.loads(asked.read()))
    )
    assert main(["online-endpoint", "update", "-f", "shown.yml", "--set", "description=x"]) == 0
    assert [one["description"] for one in sent] == ["x"]
    assert "objectives" not in sent[0], "they are as they were"


def test_a_dry_run_tells_each_objective_that_would_change(
    installed: FakeServer, write: Write, capsys: Capture
) -> None:
    write([QUICK, ANSWERED])
    applied(capsys)
    slower = {"name": "slow", "kind": "latency", "target_percent": 95, "threshold_ms": 1000}
    write([{**ANSWERED, "target_percent": 99.5}, slower])
    change = applied(capsys, "--dry-run")[0]
    assert change["action"] == "update"
    assert change["change"].split("; ") == [
        "objectives.quick: removed",
        "objectives.answered.target_percent: 99.9 → 99.5",
        "objectives.slow.name: slow",
        "objectives.slow.kind: latency",
        "objectives.slow.target_percent: 95.0",
        "objectives.slow.window_days: 28",
        "objectives.slow.threshold_ms: 1000.0",
    ]
    assert installed.endpoints["quote"]["objectives"] == WHOLE


def test_a_file_that_names_none_leaves_them_and_an_empty_list_takes_them_away(
    installed: FakeServer, write: Write, tmp_path: Path
) -> None:
    write([QUICK, ANSWERED])
    assert main(["online-endpoint", "create", "-f", "endpoint.yml"]) == 0
    (tmp_path / "words.yml").write_text("name: quote\ndescription: prices\n")
    assert main(["online-endpoint", "update", "-f", "words.yml"]) == 0
    assert installed.endpoints["quote"]["objectives"] == WHOLE
    write([])
    assert main(["online-endpoint", "update", "-f", "endpoint.yml"]) == 0
    assert installed.endpoints["quote"]["objectives"] == []


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ({**QUICK, "treshold_ms": 1}, "did you mean threshold_ms?"),
        ({**QUICK, "kind": "latncy"}, "did you mean latency?"),
        ({"name": "quick", "kind": "latency"}, "objectives[0].target_percent: is missing"),
        ({**QUICK, "target_percent": "most"}, "expected a number, not 'most'"),
    ],
)
def test_a_file_with_a_fault_is_refused_before_anything_is_asked(
    installed: FakeServer, write: Write, capsys: Capture, objective: dict[str, Any], said: str
) -> None:
    write([objective])
    assert main(["online-endpoint", "create", "-f", "endpoint.yml"]) == 1
    assert said in capsys.readouterr().err
    assert installed.endpoints == {}


def test_show_tells_them_in_words(installed: FakeServer, write: Write, capsys: Capture) -> None:
    write([QUICK, ANSWERED])
    assert main(["online-endpoint", "create", "-f", "endpoint.yml", "-o", "table"]) == 0
    line = next(row for row in capsys.readouterr().out.splitlines() if "Objectives" in row)
    assert "answered: 99.9 % without a 5xx, 28 days; quick: 99 % within 250 ms" in line


def test_an_entity_takes_objectives_as_objects_and_as_values() -> None:
    objects = [Objective(name="quick", kind="latency", target_percent=99, threshold_ms=250)]
    made = ManagedOnlineEndpoint(name="quote", objectives=[*objects, ANSWERED])
    assert endpoint_body(made)["objectives"] == WHOLE
    assert load_online_endpoint(made._to_dict()).objectives == made.objectives
    with pytest.raises(TypeError, match="goal"):
        ManagedOnlineEndpoint(name="quote", objectives=[{**ANSWERED, "goal": 1}])

"""``shoal test``: saved cases asked of a deployment; what is reported where."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import httpx
import pytest

from shoal.cli.main import main
from shoal.sdk import scoring
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
INPUT = {"name": "x", "datatype": "FP32", "shape": [1], "data": [2.0]}
EXPECTED = {"name": "y", "datatype": "FP32", "shape": [1], "data": [4.0]}


def case(name: str, expected: list[Any], **changes: Any) -> dict[str, Any]:
    return {
        "id": name, "name": name, "description": "", "model": "net", "endpoint": "net",
        "tensors": [], "golden": bool(expected), "created_by": "dora",
        "created_at": "2026-01-05T10:00:00Z", "updated_at": "2026-01-05T10:00:00Z",
        "inputs": [INPUT], "options": {}, "expected": expected,
        "tolerance": {"relative": 1e-4, "absolute": 1e-6}, **changes,
    }  # fmt: skip


def answers(server: FakeServer, call: str, body: Any) -> None:
    """However often it is asked."""
    server.fail_next(call, lambda _: httpx.Response(200, json=body), times=20)


@pytest.fixture
def serving(installed: FakeServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An endpoint whose model answers 4, with three cases; where it was asked."""
    answers(installed, "GET /endpoints/net", {
        "name": "net", "auth_mode": "key", "scoring_uri": "https://gateway.test/endpoints/net/",
        "ca_path": "", "traffic": {"blue": 100},
        "deployments": [
            {"name": "blue", "model": "net", "version": 1},
            {"name": "green", "model": "net", "version": 1},
        ],
    })  # fmt: skip
    answers(installed, "POST /endpoints/net/keys/list", {"primaryKey": "k", "secondaryKey": "l"})
    answers(installed, "GET /models/net/versions/1", {"repo_models": [{"name": "net"}]})
    cases = [
        case("right", [EXPECTED]),
        case("wrong", [{**EXPECTED, "data": [5.0]}]),
        case("new", []),
        case("gone", [EXPECTED], options={"version": "9"}),
    ]
    answers(installed, "GET /test-cases", page(*cases))
    for one in cases:
        answers(installed, f"GET /test-cases/{one['id']}", one)
    asked: list[str] = []
    green = [0.0, 1.0, 0.0]  # how far it is from blue, call by call

    def call(_: Any, secret: str, path: str, *rest: Any) -> httpx.Response:
        asked.append(f"{secret} {path}")
        if rest[2] == "green" and "versions" not in path:
            return httpx.Response(
                200, json={"outputs": [{**EXPECTED, "data": [4.0 + green.pop(0)]}]}
            )
        if "versions" in path:
            raise scoring.ScoringFailed(404, "no such version")
        return httpx.Response(200, json={"outputs": [EXPECTED]})

    monkeypatch.setattr(scoring, "call", call)
    return asked


def test_golden_cases_are_asked_and_reported(
    serving: list[str], tmp_path: Path, capsys: Capture
) -> None:
    report = tmp_path / "report.xml"
    assert main(["test", "run", "net", "-d", "blue", "--junit", str(report), "-o", "json"]) == 1
    assert serving == [
        "k v2/models/net/infer",
        "k v2/models/net/infer",
        "k v2/models/net/versions/9/infer",
    ], "one that expects nothing is not asked"
    out, err = capsys.readouterr()
    assert [item["passed"] for item in json.loads(out)] == [True, False, False]
    assert "FAIL  wrong  y 1 of 1 values differ [0]: 4, expected 5 ± 0.000501" in err
    assert "2 of 3 cases failed" in err
    suite = xml.parse(report).getroot()
    assert suite.attrib | {"time": ""} == {
        "name": "net/blue", "tests": "3", "failures": "1", "errors": "1", "time": "",
    }  # fmt: skip
    assert [child.tag for one in suite for child in one] == ["failure", "error"]


def test_one_case_is_asked_by_its_name(serving: list[str], capsys: Capture) -> None:
    assert main(["test", "run", "net", "--case", "right"]) == 0
    assert len(serving) == 1
    assert "right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "net", "--case", "nothing"], "No case of net is called nothing."),
        (["run", "net", "-d", "red"], "net has no deployment red."),
    ],
)
def test_what_is_not_there_is_named(
    serving: list[str], arguments: list[str], told: str, capsys: Capture
) -> None:
    assert main(["test", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert serving == []


def test_what_is_answered_now_is_expected_from_now_on(
    installed: FakeServer, serving: list[str], capsys: Capture
) -> None:
    kept = Sent(installed, "PUT /test-cases/new", case("new", [EXPECTED]))
    assert main(["test", "accept", "net", "--case", "new"]) == 0
    assert len(serving) == 1
    assert kept.bodies[0]["expected"] == [EXPECTED]
    assert "id" not in kept.bodies[0]
    assert "Case new of net expects what net answers now" in capsys.readouterr().err


def test_a_call_is_saved_with_its_answer(
    installed: FakeServer, serving: list[str], tmp_path: Path
) -> None:
    saved = Sent(installed, "POST /test-cases", case("two", [EXPECTED]), status=201)
    inputs = tmp_path / "two.json"
    inputs.write_text(json.dumps({"inputs": [INPUT]}))
    assert main(["test", "save", "two", "net", "-i", str(inputs), "--relative", "0.1"]) == 0
    assert saved.bodies[0]["inputs"] == [INPUT]
    assert saved.bodies[0]["expected"] == [EXPECTED]
    assert saved.bodies[0]["tolerance"] == {"relative": 0.1}
    for wrong in ("[]", "{", '{"inputs": [{"name": "x"}]}', '{"inputs": [1]}'):
        inputs.write_text(wrong)
        assert main(["test", "save", "two", "net", "-i", str(inputs)]) == 2
    inputs.write_text(json.dumps({"inputs": [{**INPUT, "datatype": "FP8"}]}))
    assert main(["test", "save", "two", "net", "-i", str(inputs)]) == 2
    assert len(serving) == 1


def test_two_deployments_are_asked_the_same_and_compared(
    serving: list[str], capsys: Capture
) -> None:
    assert main(["test", "compare", "net", "blue", "green", "-o", "json"]) == 1
    out, err = capsys.readouterr()
    assert [item["equal"] for item in json.loads(out)] == [True, False, True, False]
    assert set(json.loads(out)[0]["seconds"]) == {"blue", "green"}
    assert "FAIL  wrong  y 1 of 1 values differ [0]: 5, expected 4 ± 0.000401" in err
    assert "FAIL  gone  blue: " in err
    assert "2 of 4 answers differ" in err
    assert main(["test", "compare", "net", "blue", "red"]) == 2
    assert "net has no deployment red." in capsys.readouterr().err

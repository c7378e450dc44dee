"""``shoal rollout``, the SDK's rollouts, and what a terminal shows of one."""

from typing import Any

import pytest

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import Client
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
PATH = "/endpoints/net/rollouts"
FIGURE: dict[str, Any] = {
    "measure": "errors", "title": "Server errors (5xx)", "bad": 9, "of": 120, "stable_bad": 3,
    "stable_of": 1080, "confidence": 0.99995, "needed": 0.993, "tolerance": 1.0, "broken": True,
    "text": "7.5 % of green's requests failed.",
}  # fmt: skip
RESTARTS = FIGURE | {"measure": "restarts", "confidence": None, "needed": None, "title": "Restarts"}


def shown(state: str = "Running", **changes: Any) -> dict[str, Any]:
    ended = state not in ("Running", "Paused")
    return {
        "id": "r1", "endpoint": "net", "deployment": "green", "state": state, "percent": 10,
        "stages": [{"percent": 10, "hold_s": 60, "status": "running", "requests": 120}],
        "reason": "10 % for 50 s more.", "cause": "hold_time", "figures": [FIGURE, RESTARTS],
        "latency": [{"quantile": 0.95, "candidate_us": 12_000.0, "stable_us": None}],
        "created_by": "dora", "created_at": "2026-01-05T10:00:00Z",
        "ended_by": "rollout" if ended else "",
        "finished_at": "2026-01-05T10:01:00Z" if ended else None, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {}),
        (["--compare", "30"], {"compare": {"per_minute": 30}}),
        (
            ["--compare", "5", "--compare-by", "best_class", "--without", "golden"],
            {"compare": {"per_minute": 5, "by": "best_class"}, "guardrails": {"golden": None}},
        ),
        (
            ["--compare", "5", "--compare-from", "captured", "--captured-hours", "2"],
            {"compare": {"per_minute": 5, "sources": ["captured"], "captured_hours": 2}},
        ),
        (
            ["--hold", "60"],
            {"steps": [*({"percent": n, "hold_s": 60} for n in (1, 10, 50)), {"percent": 100}]},
        ),
        (
            ["--steps", "5:30, 100%", "--min-requests", "50"],
            {
                "steps": [{"percent": 5, "hold_s": 30}, {"percent": 100}],
                "min_requests": 50,
            },
        ),
        (
            ["--tolerance", "errors=1.5", "--confidence", "errors=0.99", "--without", "restarts"],
            {"guardrails": {"errors": {"tolerance": 1.5, "confidence": 0.99}, "restarts": None}},
        ),
    ],
)
def test_it_is_started(
    installed: FakeServer, capsys: Capture, options: list[str], body: dict[str, Any]
) -> None:
    sent = Sent(installed, f"POST {PATH}", shown(), status=201)
    assert main(["rollout", "start", "net", "green", *options]) == 0
    assert sent.bodies == [{"deployment": "green", **body}]
    out = capsys.readouterr().out
    for text in ("green of net, 10 % now", "10 % for 50 s more.", "12.0 ms, stable –"):
        assert text in out
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert lines["Server errors (5xx)"].split()[3:] == [
        "9", "of", "120", "3", "of", "1,080", "99.9", "%", "99.3", "%",
    ]  # fmt: skip
    assert "more than 1" in lines["Restarts"]


@pytest.mark.parametrize("checked", [True, False])
def test_it_is_told_where_nobody_looks_at_answers(
    installed: FakeServer, capsys: Capture, checked: bool
) -> None:
    Sent(installed, f"POST {PATH}", shown(answers_checked=checked), status=201)
    assert main(["rollout", "start", "net", "green"]) == 0
    assert ("nothing looks at them" in capsys.readouterr().out) is not checked


def test_what_was_compared_and_what_differed(installed: FakeServer, capsys: Capture) -> None:
    compared = {
        "captured": "12 captured requests were compared: 188 are missing.",
        "sources": [
            {"source": "cases", "inputs": 30, "differing": 0},
            {"source": "captured", "inputs": 12, "differing": 3},
        ],
    }
    one = {"source": "captured", "model": "net", "at": "2026-01-05T10:00:00Z", "line": 7,
           "text": "y 1 of 3 values differ", "file": "ab" * 16, "kept": False}  # fmt: skip
    Sent(installed, f"GET {PATH}", page(shown(compared=compared)), page(shown()))
    assert main(["rollout", "show", "net"]) == 0
    out = capsys.readouterr().out
    assert "30 saved, 0 answered otherwise; 12 of clients, 3 answered otherwise" in out
    assert "188 are missing" in out
    Sent(installed, f"GET {PATH}/r1/differences", {"items": [one]})
    assert main(["rollout", "differences", "net"]) == 0
    out = capsys.readouterr().out
    assert "abababababab (gone)" in out
    assert "y 1 of 3 values differ" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shadow", "10"], {"shadow": {"percent": 10, "hold_s": 300}}),
        (["--shadow", "10:60", "--steps", "5,100:0"], {"shadow": {"percent": 10, "hold_s": 60},
          "steps": [{"percent": 5, "hold_s": 300}, {"percent": 100, "hold_s": 0}]}),
        (["--strategy", "blue_green"], {"strategy": "blue_green"}),
        (["--strategy", "blue_green", "--hold", "9"], {"strategy": "blue_green",
          "steps": [{"percent": 0, "hold_s": 60}, {"percent": 100, "hold_s": 9}]}),
    ],
)  # fmt: skip
def test_strategies(installed: FakeServer, options: list[str], said: dict[str, Any]) -> None:
    sent = Sent(installed, f"POST {PATH}", shown(), status=201)
    assert main(["rollout", "start", "net", "green", *options]) == 0
    assert sent.bodies == [{"deployment": "green"} | said]


def test_copies_are_one_share(installed: FakeServer, capsys: Capture) -> None:
    assert main(["rollout", "start", "net", "green", "--shadow", "5,10"]) == 2
    assert "--shadow" in capsys.readouterr().err


def test_stages_of_copies_and_what_is_used_are_shown(
    installed: FakeServer, capsys: Capture
) -> None:
    stage = {"percent": 0, "mirror": 20, "hold_s": 60, "status": "running", "requests": 7}
    used = {
        "measure": "saturation",
        "title": "Use of its replicas",
        "counts": "percent",
        "bad": 97,
        "of": 100,
        "stable_bad": 0,
        "stable_of": 0,
        "tolerance": 0.95,
        "confidence": None,
        "needed": None,
    }
    item = shown(strategy="blue_green", stages=[stage], figures=[used])
    Sent(installed, f"GET {PATH}", page(item))
    assert main(["rollout", "show", "net"]) == 0
    out = capsys.readouterr().out
    for told in ("copies of 20 %", "blue_green", "97 %", "not measured", "95 %, for 120 s"):
        assert told in out


@pytest.mark.parametrize("steps", ["a", "5:x", "10,,100"])
def test_steps_that_cannot_be_read(installed: FakeServer, capsys: Capture, steps: str) -> None:
    assert main(["rollout", "start", "net", "green", "--steps", steps]) == 2
    assert "expected PERCENT or PERCENT:SECONDS" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["pause", "resume", "promote", "abort"])
def test_without_an_id_the_latest_is_meant(installed: FakeServer, action: str) -> None:
    Sent(installed, f"GET {PATH}", page(shown()))
    Sent(installed, f"POST {PATH}/r1/{action}", shown())
    assert main(["rollout", action, "net"]) == 0
    Sent(installed, f"POST {PATH}/r2/{action}", shown())
    assert main(["rollout", action, "net", "r2"]) == 0
    assert installed.calls == [
        f"GET {PATH}",
        f"POST {PATH}/r1/{action}",
        f"POST {PATH}/r2/{action}",
    ]


def test_an_endpoint_that_had_none(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, f"GET {PATH}", page(), page())
    assert main(["rollout", "show", "net"]) == 1
    assert "shoal rollout start net DEPLOYMENT" in capsys.readouterr().err
    assert main(["rollout", "list", "net"]) == 0
    assert "No rollouts yet" in capsys.readouterr().err


def test_who_watches_is_told_each_change_once_and_why_it_ended(
    installed: FakeServer, capsys: Capture
) -> None:
    ended = shown("Withdrawn", cause="errors", reason="9 of 120 failed.", percent=0)
    going = [shown(reason=f"10 % for {left} s more.") for left in (50, 49)]
    Sent(installed, f"GET {PATH}/r1", *going, ended)
    assert main(["rollout", "watch", "net", "r1"]) == 1
    err = capsys.readouterr().err
    assert err.count("green 10 %") == 1
    assert "green 0 %  9 of 120 failed." in err
    assert "Rollout of green: Withdrawn" in err
    Sent(installed, f"GET {PATH}/r1", shown("Succeeded", percent=100))
    assert main(["rollout", "watch", "net", "r1", "-o", "json"]) == 0


def test_the_sdk_says_the_same(client: Client, server: FakeServer) -> None:
    rollouts = MLClient(client=client, show_progress=False).rollouts
    sent = Sent(server, f"POST {PATH}", shown())
    rollouts.start("net", "green", guardrails={"refusals": None}, supersede=True)
    assert sent.bodies == [{"deployment": "green", "guardrails": {"refusals": None}}]
    Sent(server, f"GET {PATH}", page(shown()), page(shown()), page(shown("Succeeded")))
    assert [one["id"] for one in rollouts.list("net")] == ["r1"]
    Sent(server, f"POST {PATH}/r1/pause", shown("Paused"))
    assert rollouts.pause("net")["state"] == "Paused"
    assert rollouts.wait("net")["state"] == "Succeeded"


def test_what_golden_cases_showed_is_printed(installed: FakeServer, capsys: Capture) -> None:
    golden = {
        "at": 1.0, "cases": 3, "wrong": ["'two' of net, y is INT32, expected FP32"],
        "unanswered": ["'one' of net, there was no answer within 10 s"],
    }  # fmt: skip
    figure = RESTARTS | {"measure": "golden", "title": "Golden cases", "counts": "cases"}
    figure |= {"bad": 1, "of": 3, "stable_bad": 0, "stable_of": 0, "tolerance": 0.0}
    item = shown(golden=golden, figures=[figure])
    Sent(installed, "GET /endpoints/net/rollouts/r1", item)
    assert main(["rollout", "show", "net", "r1"]) == 0
    out = capsys.readouterr().out
    assert "1 of 3 as expected; wrong: 'two' of net, y is INT32" in out
    assert "not answered: 'one' of net" in out
    (row,) = [line for line in out.splitlines() if "1 of 3  " in line]
    assert "0 of 0" not in row
    assert "more than 0" in row


@pytest.mark.parametrize("option", [("--compare-by", "values"), ("--compare-from", "captured")])
def test_how_to_compare_needs_how_much(
    installed: FakeServer, capsys: Capture, option: tuple[str, str]
) -> None:
    assert main(["rollout", "start", "net", "green", *option]) == 2
    assert "--compare compares: give it" in capsys.readouterr().err

"""Capacity and prices on a terminal: what is sent, what is printed, exit codes."""

from typing import Any

import httpx
import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
GIB = 1 << 30


def amount(total: float, used: float = 0, promised: float = 0) -> dict[str, float]:
    idle = total - max(used, promised)
    return {"total": total, "promised": promised, "used": used, "idle": idle}


USE: dict[str, Any] = {
    "replicas": 3, "processors": amount(8, 2), "memory": amount(32 * GIB, 8 * GIB),
    "gpus": amount(2, 0.5, 1), "gpu_memory": amount(32 * GIB, 4 * GIB, 6 * GIB),
}  # fmt: skip
GLANCE: dict[str, Any] = {
    "nodes": 2, "nodes_online": 1, "totals": USE, "currency": "EUR", "priced": True,
    "projects": [
        {
            "project": "vision", "deployments": 1, "replicas": 3, "gpus": 1, "per_hour": 1.5,
            "per_day": 36.0, "unpriced": 1,
        }
    ],
}  # fmt: skip
NODE = {**USE, "name": "gpu-1", "online": True, "cordoned": False, "idle": 0.5, "per_hour": None}
DEPLOYMENT: dict[str, Any] = {
    "endpoint": "digits", "deployment": "blue", "project": "vision", "traffic": 100, "replicas": 3,
    "gpus": 1, "measured": {"request_rate": 12.5},
    "headroom": {"times": 4.0, "limit": "instances", "because": "At work 25%."},
    "cost": {"per_hour": 1.5, "per_day": 36.0, "unpriced": 2, "per_1000_requests": 0.00033},
}  # fmt: skip
WASTE = {
    "code": "node-empty", "kind": "node", "subject": "spare", "title": "Nothing runs on spare",
    "text": "It has 8 processors.", "change": "Switch it off.",
}  # fmt: skip


def serve(server: FakeServer, **changes: Any) -> None:
    Sent(server, "GET /capacity", GLANCE | changes)
    Sent(server, "GET /capacity/nodes", page(NODE))
    Sent(server, "GET /capacity/deployments", page(DEPLOYMENT))
    Sent(server, "GET /capacity/waste", {"items": [WASTE], "looked_at": 1})


def test_all_of_it_is_shown(installed: FakeServer, capsys: Capture) -> None:
    serve(installed)
    assert main(["capacity"]) == 0
    said = capsys.readouterr().out
    for words in (
        "1 of 2 node(s) online", "1.0 of 2 GPUs", "50 %", "digits/blue", "12.5/s",
        "4.00 × (instances)", "1.50 EUR", "0.00033 EUR", "36.00 EUR",
        "1.50 EUR, 2 without a price", "→ Switch it off.",
    ):  # fmt: skip
        assert words in said, words


def test_without_prices_it_says_where_they_are_set(installed: FakeServer, capsys: Capture) -> None:
    serve(installed, priced=False)
    assert main(["capacity"]) == 0
    assert "shoal prices set" in capsys.readouterr().out


def test_what_is_lost_with_nodes_is_told(installed: FakeServer, capsys: Capture) -> None:
    move = {"replica": "r", "endpoint": "digits", "deployment": "blue", "ordinal": 0}
    answer = {
        "lost": ["a", "b"],
        "replicas": [{**move, "node": "a", "to": "c"}, {**move, "node": "b", "to": None}],
        "deployments": [
            {
                "endpoint": "digits", "deployment": "blue", "traffic": 100, "replicas": 2,
                "lost": 2, "placed": 1, "ready_left": 0,
                "reasons": [{"reason": "cordoned", "nodes": 3}],
            }
        ],
        "endpoints": [{"endpoint": "digits", "traffic_lost": 100, "comes_back": True}],
    }  # fmt: skip
    asked: list[str] = []

    def told(request: httpx.Request) -> httpx.Response:
        asked.extend(request.url.params.get_list("lost"))
        return httpx.Response(200, json=answer)

    installed.fail_next("GET /capacity/what-if", told)
    assert main(["capacity", "--lost", "a", "--lost", "b"]) == 0
    assert asked == ["a", "b"]
    said = capsys.readouterr().out
    for words in ("no place", "0 of 2 replica(s) go on", "3 node(s): cordoned", "! digits: 100 %"):
        assert words in said, words


def test_prices_change_one_by_one(installed: FakeServer, capsys: Capture) -> None:
    before = {
        "currency": "EUR", "instance_types": {"gpu": 1.0}, "nodes": {"a": 2.0, "b": 3.0},
        "labels": [{"key": "zone", "value": "x", "per_hour": 4.0}],
    }  # fmt: skip
    Sent(installed, "GET /prices", before)
    sent = Sent(installed, "PUT /prices", before)
    words = ["--node", "a=none", "--node", "c=0.5", "--label", "zone=y=1"]
    assert main(["prices", "set", *words]) == 0
    assert sent.bodies[0] == {
        **before, "nodes": {"b": 3.0, "c": 0.5},
        "labels": [*before["labels"], {"key": "zone", "value": "y", "per_hour": 1.0}],
    }  # fmt: skip
    assert "zone=x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["prices", "set", "--node", "a"], "expected NAME=PRICE"),
        (["prices", "set", "--node", "a=x"], "expected a number such as 0.95"),
        (["prices", "set", "--label", "a=1"], "expected KEY=VALUE=PRICE"),
        (["capacity", "--more", "digits"], "expected ENDPOINT/DEPLOYMENT"),
        (["capacity", "--more", "a/b", "--lost", "c"], "not both"),
    ],
)
def test_what_makes_no_sense_is_refused(
    installed: FakeServer, capsys: Capture, words: list[str], told: str
) -> None:
    Sent(
        installed, "GET /prices", {"currency": "", "instance_types": {}, "nodes": {}, "labels": []}
    )
    assert main(words) == 2
    assert told in capsys.readouterr().err

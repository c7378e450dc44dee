"""``shoal requests``: lists, and where the time of one went as bars of text."""

from typing import Any

import pytest

from shoal.cli.main import main
from shoal.client import Client
from shoal.display.waterfall import lines
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent

Capture = pytest.CaptureFixture[str]
SEEN: dict[str, Any] = {
    "id": "aaaa-1", "deployment": "blue", "at": 1000.0, "why": "slow", "method": "POST",
    "path": "/v2/models/m/infer", "status": 200, "status_class": "2xx", "grpc_status": None,
    "replica": "r-1", "node": "n1", "host": "10.0.0.7:9001", "attempts": 1, "duration_us": 10_000.0,
    "receive_us": 1000.0, "replica_us": 8000.0, "send_us": 1000.0, "request_bytes": 1, "flags": "",
    "response_bytes": 1, "as_json": False, "details": "via_upstream",
}  # fmt: skip
SPAN: dict[str, Any] = {
    "model": "m", "version": 1, "parent": -1, "via": "", "start_us": 0.0, "total_us": 6000.0,
    "batch": 3, "accept_us": 100.0, "queue_us": 4500.0, "input_us": 100.0, "infer_us": 1000.0,
    "output_us": 100.0, "error": "",
}  # fmt: skip
TRACE: dict[str, Any] = {
    "replica": "r-1", "node": "n1", "deployment": "blue", "at": 1000.0, "why": "slow",
    "spans": [SPAN], "left_out": 0, "shared_with": ["bbbb-2", "cccc-3"],
}  # fmt: skip
BARS: list[dict[str, Any]] = [
    {"what": what, "depth": depth, "start_us": start, "took_us": took, "span": span, "leaf": leaf,
     "slow": slow}
    for what, depth, start, took, span, leaf, slow in (
        ("receive", 0, 0.0, 1000.0, None, True, False),
        ("inside", 0, 1000.0, 8000.0, None, False, False),
        ("model", 1, 2000.0, 6000.0, 0, False, False),
        ("queue", 2, 2100.0, 4500.0, 0, True, True),
        ("infer", 2, 6700.0, 0.0, 0, True, False),
        ("send", 0, 9000.0, 1000.0, None, True, False),
    )
]  # fmt: skip


def test_bars_stand_where_they_were_and_keep_to_their_width() -> None:
    found = lines(BARS, [SPAN])
    assert [line.count("█") + line.count("─") for line in found] == [4, 32, 24, 18, 1, 4]
    assert found[3].startswith("    queue ")
    assert found[3].endswith("← slow")
    assert found[2].lstrip().startswith("m, version 1 ")
    assert found[2].endswith("in a batch of 3 requests")
    assert len({line.index("ms") for line in found if "ms" in line}) == 1
    assert lines([], []) == []


@pytest.mark.parametrize(
    ("span", "label"),
    [
        ({"via": "step", "error": "QueueFull"}, "step m, version 1"),
        ({"via": "call", "error": "QueueFull"}, "call of m, version 1"),
    ],
)
def test_what_led_to_a_model_and_how_it_failed(span: dict[str, Any], label: str) -> None:
    (line,) = lines([BARS[2]], [SPAN | span])
    assert line.lstrip().startswith(label)
    assert line.endswith("in a batch of 3 requests, QueueFull")


def test_one_is_drawn(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /endpoints/net/requests", {"items": [SEEN]})
    story = {"seen": SEEN, "trace": TRACE, "bars": BARS, "told": ""}
    Sent(installed, "GET /endpoints/net/requests/aaaa-1", {"id": "aaaa-1", "items": [story]})
    assert main(["requests", "net", "--id", "aaaa"]) == 0
    out = capsys.readouterr().out
    for text in ("aaaa-1", "r-1 on n1, as slow", "bbbb-2, cccc-3", "← slow", "█", "4.50 ms"):
        assert text in out


def test_why_nothing_is_drawn_of_the_replica(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /endpoints/net/requests", {"items": [SEEN]})
    story = {
        "seen": SEEN,
        "trace": None,
        "bars": BARS[:1],
        "told": "Its replica kept no times of it.",
    }
    Sent(installed, "GET /endpoints/net/requests/aaaa-1", {"id": "aaaa-1", "items": [story]})
    assert main(["requests", "net", "--id", "aaaa"]) == 0
    assert "Its replica kept no times of it." in capsys.readouterr().out


def test_several_are_listed(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /endpoints/net/requests", {"items": [SEEN, {**SEEN, "id": "aaab-2"}]})
    assert main(["requests", "net", "--id", "aaa"]) == 0
    assert "aaab-2"[:8] in capsys.readouterr().out


def test_what_reached_no_replica_took_no_time_there(installed: FakeServer, capsys: Capture) -> None:
    dead = {**SEEN, "status": 503, "host": "", "replica": "", "node": "", "replica_us": 8765.0}
    Sent(installed, "GET /endpoints/net/requests", {"items": [{**dead, "host": "h:1"}, dead]})
    assert main(["requests", "net"]) == 0
    asked, unasked = capsys.readouterr().out.splitlines()[-2:]
    assert "8.77 ms" in asked
    assert "8.77 ms" not in unasked


def test_the_client_asks_for_one(client: Client, server: FakeServer) -> None:
    Sent(server, "GET /endpoints/net/requests/a/b", {"id": "a/b", "items": []})
    assert client.get_request("net", "a/b") == []

"""Nodes on a terminal: what is sent, what is printed, exit codes."""

import time
from typing import Any

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
GIB = 1 << 30
ONE: dict[str, Any] = {
    "id": "n1", "name": "one", "state": "online", "cordoned": False, "labels": {"zone": "a"},
    "last_seen_at": None, "age_s": 2.0,
    "info": {
        "address": "10.0.0.1", "agent_version": "0.1.0", "memory_used_bytes": GIB,
        "memory_total_bytes": 4 * GIB, "disk_free_bytes": 2 * GIB, "disk_total_bytes": 8 * GIB,
        "gpus": [{"name": "T4", "memory_total_bytes": 16 * GIB}],
    },
    "replicas": [{"endpoint": "digits", "deployment": "blue", "ordinal": 0, "state": "ready"}],
}  # fmt: skip
MOVE: dict[str, Any] = {
    "replica": "r", "node": "one", "endpoint": "digits", "deployment": "blue", "ordinal": 0,
    "traffic": 100, "to": "three", "why_not": "", "waits_for": "",
}  # fmt: skip


def test_a_node_is_shown(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /nodes/one", ONE)
    assert main(["node", "show", "one"]) == 0
    said = capsys.readouterr().out
    for words in ("10.0.0.1", "zone=a", "T4 (16.0 GiB)", "1.00 GiB used of 4", "digits/blue#0"):
        assert words in said
    assert "!" not in said
    Sent(installed, "GET /nodes", page(ONE | {"cordoned": True}))
    assert main(["node", "list"]) == 0
    assert "online, cordoned" in capsys.readouterr().out


def test_what_is_wrong_with_a_node_is_shown(installed: FakeServer, capsys: Capture) -> None:
    odd = {"code": "CacheSpoiled", "message": "2 file(s) had changed"}
    error = {"code": "DiskFull", "message": "There is no room.", "hints": ["Free disk space."]}
    info = ONE["info"] | {
        "cache_bytes": GIB, "cache_quota_bytes": 2 * GIB, "cache_checked_at": time.time() - 7200,
        "download_limit_bytes_per_s": 50 << 20,
    }  # fmt: skip
    (row,) = ONE["replicas"]
    wrong = ONE | {"conditions": [odd], "info": info, "replicas": [row | {"error": error}]}
    Sent(installed, "GET /nodes/one", wrong)
    assert main(["node", "show", "one"]) == 0
    said = capsys.readouterr().out
    assert "! CacheSpoiled: 2 file(s) had changed" in said
    assert "! digits/blue#0: DiskFull: There is no room. Free disk space." in said
    assert "1.00 GiB of 2.00 GiB, downloads at most 50.0 MiB/s, hashed again 120 min ago" in said


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["disk=fast"], {"zone": "a", "disk": "fast"}),
        (["zone=b"], {"zone": "b"}),
        (["zone-", "rack=", "x=a=b"], {"rack": "", "x": "a=b"}),
    ],
)
def test_labels_change_one_by_one(
    installed: FakeServer, words: list[str], labels: dict[str, str]
) -> None:
    Sent(installed, "GET /nodes/one", ONE)
    sent = Sent(installed, "PATCH /nodes/one", ONE | {"labels": labels})
    assert main(["node", "label", "one", *words]) == 0
    assert sent.bodies == [{"labels": labels}]


@pytest.mark.parametrize("word", ["zone", "=a", "-"])
def test_what_is_no_label_is_refused(installed: FakeServer, capsys: Capture, word: str) -> None:
    assert main(["node", "label", "one", "--", word]) == 2
    assert f"'{word}': expected KEY=VALUE" in capsys.readouterr().err


def test_several_are_cordoned(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "POST /nodes/one/cordon", ONE | {"cordoned": True})
    Sent(installed, "POST /nodes/two/cordon", ONE | {"name": "two", "cordoned": True})
    assert main(["node", "cordon", "one", "two"]) == 0
    assert capsys.readouterr().out.count("cordoned") == 2
    Sent(installed, "POST /nodes/one/uncordon", ONE)
    assert main(["node", "uncordon", "one", "--query", "cordoned", "-o", "tsv"]) == 0
    assert capsys.readouterr().out == "false\n"


def test_several_are_drained_at_once(installed: FakeServer, capsys: Capture) -> None:
    moves = [MOVE, MOVE | {"node": "two", "to": None, "why_not": "no GPU"}]
    sent = Sent(installed, "POST /drains", {"dry_run": True, "moves": moves})
    assert main(["node", "drain", "one", "two", "--dry-run"]) == 0
    asked = {"nodes": ["one", "two"], "dry_run": True, "force": False, "deadline_s": 600}
    assert sent.bodies == [asked]
    said = capsys.readouterr().out
    assert "three" in said and "no GPU" in said


def test_a_node_is_removed(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "DELETE /nodes/one", None)
    assert main(["node", "remove", "one", "--force"]) == 0
    assert (sent.bodies, capsys.readouterr().out) == ([None], "")

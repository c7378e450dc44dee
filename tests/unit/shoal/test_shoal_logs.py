"""``shoal logs``: what is searched for is the server's to find."""

from typing import Any

import httpx
import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
LINE = {
    "id": 7, "at": "2026-11-21T14:00:00Z", "replica_id": "r-1", "stream": "inference-server",
    "text": "E no memory", "level": "error",
}  # fmt: skip


def answered(server: FakeServer, *lines: dict[str, Any]) -> list[dict[str, str]]:
    """The queries that are asked for the log."""
    asked: list[dict[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        return httpx.Response(200, json={"lines": list(lines), "last_id": 7})

    server.fail_next("GET /endpoints/net/deployments/blue/logs", answer)
    return asked


def test_what_to_look_for_is_sent(installed: FakeServer, capsys: Capture) -> None:
    asked = answered(installed, LINE)
    words = ["--grep", "no memory", "--level", "warn", "--since", "2026-11-21T00:00:00Z"]
    assert main(["logs", "net", "-d", "blue", *words, "--tail", "50"]) == 0
    assert capsys.readouterr().out == "2026-11-21T14:00:00Z r-1 E no memory\n"
    (query,) = asked
    assert (query["q"], query["level"], query["tail"]) == ("no memory", "warn", "50")
    assert query["since"].startswith("2026-11-21T00:00:00")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "No log lines yet from net/blue"),
        (["--grep", "x"], "No such log lines from net/blue"),
    ],
)
def test_nothing_is_told_apart_from_nothing_found(
    installed: FakeServer, capsys: Capture, words: list[str], told: str
) -> None:
    answered(installed)
    assert main(["logs", "net", "-d", "blue", *words]) == 0
    assert told in capsys.readouterr().err


def test_a_level_that_there_is_not_is_refused(installed: FakeServer, capsys: Capture) -> None:
    assert main(["logs", "net", "--level", "bad"]) == 2
    assert "'warn', 'error'" in capsys.readouterr().err

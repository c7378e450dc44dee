"""Gateways on a terminal, and what is said of a key that not all of them have heard of."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import main
from shoal.client import Client
from shoal.sdk import scoring
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent

Capture = pytest.CaptureFixture[str]


def endpoint(*silent: str, routed: bool) -> dict[str, Any]:
    since = (datetime.now(UTC) - timedelta(seconds=40)).isoformat()
    missing = [{"gateway": name, "silent_since": since} for name in silent]
    return {"name": "net", "traffic": {}, "routed": routed, "unconfirmed": missing}


REPLACE = ["online-endpoint", "regenerate-keys", "-n", "net", "--yes"]


def test_a_key_is_new_once_every_gateway_says_so(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /endpoints/net", endpoint(routed=False), endpoint(routed=True))
    assert main(REPLACE) == 0
    assert capsys.readouterr().err == "The primary key of net is new\n"


@pytest.mark.parametrize(
    ("silent", "said"),
    [
        (("east",), "not confirmed by gateway east (silent for 4"),
        ((), "not confirmed by all gateways within 20 s"),
    ],
)
def test_a_key_that_a_gateway_may_still_take_is_a_failure(
    installed: FakeServer, capsys: Capture, silent: tuple[str, ...], said: str
) -> None:
    answers = [endpoint(*silent, routed=False)] * 220
    Sent(installed, "GET /endpoints/net", *answers)
    assert main(REPLACE) == 1
    shown = capsys.readouterr().err
    assert "The primary key of net is new, but the old one may still open it" in shown
    assert said in shown
    assert ("shoal gateway remove east" in shown) == bool(silent)
    assert "The primary key of net is new\n" not in shown


def test_gateways_are_listed_and_removed(installed: FakeServer, capsys: Capture) -> None:
    east: dict[str, Any] = {
        "name": "east", "state": "silent", "last_seen_at": None, "applied_version": "v",
        "error": "Envoy does not answer", "certificate_ends_at": None,
    }  # fmt: skip
    Sent(installed, "GET /gateways", {"items": [east]})
    assert main(["gateway", "list"]) == 0
    listed = capsys.readouterr().out
    assert "silent" in listed
    assert "Envoy does not answer" in listed
    told = {"certificates": "-----BEGIN CERTIFICATE-----\n", "items": []}
    Sent(installed, "GET /ca", told, {"certificates": "", "items": []})
    assert main(["gateway", "ca"]) == 0
    assert capsys.readouterr().out == told["certificates"]
    assert main(["gateway", "ca"]) == 0
    assert capsys.readouterr().err.startswith("None: ")
    sent = Sent(installed, "DELETE /gateways/east", None, status=204)
    assert main(["gateway", "remove", "east"]) == 0
    assert sent.bodies == [None]
    assert capsys.readouterr().err == "Gateway east is removed\n"


def test_whom_to_trust_is_read_here_or_asked(
    client: Client, server: FakeServer, tmp_path: Path
) -> None:
    """A path of this machine, a name that is nowhere yet, and a studio that does not say."""
    here = tmp_path / "ca.pem"
    here.write_text("of the file")
    assert scoring.authority(client, "") == ""
    assert scoring.authority(client, str(here)) == "of the file"
    Sent(server, "GET /ca", {"certificates": "told", "items": []})
    assert scoring.authority(client, "shoal-ca.pem") == "told"
    Sent(server, "GET /ca", {"title": "Not found", "code": "ResourceNotFound"}, status=404)
    assert scoring.authority(client, "shoal-ca.pem") == ""

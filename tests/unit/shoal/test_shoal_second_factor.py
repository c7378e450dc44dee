"""Second factors on a terminal."""

from typing import Any

import click
import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent

PATH = "/session/second-factor"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"Password": "of ada", "Code": " 123456 "}
    monkeypatch.setattr(click, "prompt", lambda text, **_: answers[text])


def test_it_is_set_up_and_taken_away(
    installed: FakeServer, typed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: dict[str, Any] = {"secret": "JBSWY3DP", "uri": "otpauth://totp/x", "qr_svg": "<svg/>"}
    first = Sent(installed, f"POST {PATH}", begun)
    second = Sent(installed, f"POST {PATH}/confirm", {"recovery_codes": ["aaaa-bbbb", "cccc-dddd"]})
    assert main(["second-factor", "enable"]) == 0
    assert (first.bodies, second.bodies) == ([{"password": "of ada"}], [{"code": "123456"}])
    shown = capsys.readouterr()
    assert shown.out == "aaaa-bbbb\ncccc-dddd\n"
    assert "JBSWY3DP" in shown.err
    Sent(installed, f"GET {PATH}", {"state": "on", "recovery_codes_left": 2})
    assert main(["second-factor", "status"]) == 0
    assert capsys.readouterr().out.split()[-1] == "2"
    gone = Sent(installed, f"POST {PATH}/disable", None, status=204)
    assert main(["second-factor", "disable"]) == 0
    assert gone.bodies == [{"password": "of ada", "code": "123456"}]


def test_an_administrator_resets_somebody_s(installed: FakeServer) -> None:
    sent = Sent(installed, "DELETE /users/ada/second-factor", None, status=204)
    assert main(["user", "reset-second-factor", "ada"]) == 0
    assert sent.bodies == [None]

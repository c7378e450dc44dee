"""Signing in trades the password for a token, keeps only that, and leaves no session behind."""

import io
import json
from functools import partial
from pathlib import Path

import httpx
import pytest

import shoal.client.login
from shoal.cli.main import main
from tests.support.shoal_server import PASSWORD, TOKEN, URL, FakeServer

LOGIN = ["login", "--url", URL, "--username", "ada", "--password-stdin"]


@pytest.fixture
def far(installed: FakeServer, monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """``installed``, without anything that says where it is."""
    monkeypatch.delenv("SHOAL_URL")
    monkeypatch.delenv("SHOAL_TOKEN")
    through = partial(shoal.client.login.create_token, transport=httpx.MockTransport(installed))
    monkeypatch.setattr(shoal.client.login, "create_token", through)
    return installed


def type_password(monkeypatch: pytest.MonkeyPatch, password: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))


def test_a_login_is_used_by_the_commands_after_it(
    far: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    type_password(monkeypatch, PASSWORD)
    assert main(LOGIN) == 0
    kept = (tmp_path / "config" / "shoal" / "client.json").read_text()
    assert json.loads(kept) == {"url": URL, "token": TOKEN, "username": "ada"}
    assert PASSWORD not in kept
    assert "@" in far.token_name
    assert far.calls[-1] == "DELETE /session"
    capsys.readouterr()
    assert main(["endpoint", "list", "-o", "json"]) == 0
    assert main(["version", "-o", "json"]) == 0
    assert '"server": "9.9"' in capsys.readouterr().out


def test_a_wrong_password_stores_nothing_and_does_not_blame_a_token(
    far: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    type_password(monkeypatch, "wrong")
    assert main(LOGIN) == 1
    err = capsys.readouterr().err
    assert "BadCredentials" in err
    assert "token" not in err
    assert not (tmp_path / "config").exists()


def test_an_address_without_a_scheme_is_wrong_usage(far: FakeServer) -> None:
    assert main(["login", "--url", "shoal.test", "--username", "ada", "--password-stdin"]) == 2
    assert far.calls == []


def test_a_token_from_the_studio_is_tried_before_it_is_kept(
    far: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    through = partial(shoal.client.login.given_token, transport=httpx.MockTransport(far))
    monkeypatch.setattr(shoal.client.login, "given_token", through)
    login = ["login", "--url", URL, "--token-stdin"]
    type_password(monkeypatch, "shoal_wrong")
    assert main(login) == 1
    kept = tmp_path / "config" / "shoal" / "client.json"
    assert not kept.exists()
    type_password(monkeypatch, TOKEN)
    assert main(login) == 0
    assert json.loads(kept.read_text())["token"] == TOKEN
    assert main(["endpoint", "list"]) == 0

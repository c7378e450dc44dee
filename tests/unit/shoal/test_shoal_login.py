"""Signing in trades the password for a token, keeps only that, and leaves no session behind."""

import io
import json
import stat
from functools import partial
from pathlib import Path

import click
import httpx
import keyring
import keyring.backend
import keyring.errors
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
    assert json.loads(kept) == {"url": URL, "token": TOKEN, "username": "ada", "keyring": ""}
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


def test_a_token_made_in_the_browser_is_pasted(
    far: FakeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", lambda page: opened.append(page) or 1)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: f" {TOKEN}\n")
    through = partial(shoal.client.login.given_token, transport=httpx.MockTransport(far))
    monkeypatch.setattr(shoal.client.login, "given_token", through)
    assert main(["login", "--url", f"{URL}/", "--browser"]) == 0
    assert opened == [f"{URL}/settings/tokens"]
    assert "No browser could be started" in capsys.readouterr().err
    assert main(["endpoint", "list"]) == 0


class Memory(keyring.backend.KeyringBackend):
    """A keyring that works, or is locked."""

    priority = 5  # type: ignore[assignment]
    name = "Memory"

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def _open(self) -> dict[tuple[str, str], str]:
        if self.locked:
            raise keyring.errors.KeyringLocked("locked")
        return self.kept

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        return self._open().get((service, username))

    def delete_password(self, service: str, username: str) -> None:
        del self._open()[service, username]


@pytest.fixture
def memory() -> Memory:
    """Taken away again by the fixture that keeps tests out of real keyrings."""
    backend = Memory()
    keyring.set_keyring(backend)
    return backend


def test_a_keyring_keeps_the_token_and_the_file_does_not(
    far: FakeServer,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    type_password(monkeypatch, PASSWORD)
    assert main(LOGIN) == 0
    assert "kept in the keyring (Memory)" in capsys.readouterr().err
    file = tmp_path / "config" / "shoal" / "client.json"
    assert TOKEN not in file.read_text()
    assert memory.kept == {("shoal", f"ada@{URL}"): TOKEN}
    assert main(["endpoint", "list"]) == 0
    memory.locked = True
    capsys.readouterr()
    assert main(["endpoint", "list"]) == 1
    assert "Unlock the keyring" in capsys.readouterr().err
    monkeypatch.setenv("SHOAL_TOKEN", TOKEN)
    assert main(["endpoint", "list"]) == 0
    memory.locked = False
    assert main(["logout"]) == 0
    assert memory.kept == {} and not file.exists()
    assert main(["logout"]) == 0
    assert "Nobody is signed in" in capsys.readouterr().err


@pytest.mark.parametrize("in_file", [True, False])
def test_without_a_keyring_that_works_the_file_keeps_it(
    far: FakeServer,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    in_file: bool,
) -> None:
    memory.locked = not in_file
    type_password(monkeypatch, PASSWORD)
    assert main([*LOGIN, "--in-file"] if in_file else LOGIN) == 0
    file = tmp_path / "config" / "shoal" / "client.json"
    assert json.loads(file.read_text())["token"] == TOKEN
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert memory.kept == {}
    assert main(["endpoint", "list"]) == 0


@pytest.mark.parametrize(
    ("options", "typed", "asked", "status"),
    [
        ([], "123456", 1, 0),
        ([], "000000", 1, 1),
        (["--code", "123456"], "", 0, 0),
    ],
)
def test_a_code_is_asked_for_where_the_account_has_a_second_factor(
    far: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    typed: str,
    asked: int,
    status: int,
) -> None:
    prompts: list[str] = []
    monkeypatch.setattr(click, "prompt", lambda text, **_: prompts.append(text) or typed)
    far.second_factor = "123456"
    type_password(monkeypatch, PASSWORD)
    assert main([*LOGIN, *options]) == status
    assert prompts == ["Code"] * asked
    assert far.calls.count("POST /session") == 2

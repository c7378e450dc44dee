"""The command that makes an installation usable writes secrets privately and can be repeated."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from controlplane.accounts import selectors
from controlplane.accounts.models import ApiToken, SetupToken, User
from controlplane.accounts.types import token_hash


def setup(path: Path, *options: str) -> dict[str, str | None]:
    call_command("setup_installation", "--output", str(path), *options, stderr=StringIO())
    answer: dict[str, str | None] = json.loads(path.read_text())
    return answer


def test_the_first_run_tells_a_password_and_later_runs_do_not(db: None, tmp_path: Path) -> None:
    path = tmp_path / "setup.json"
    first = setup(path, "--join-token")
    assert path.stat().st_mode & 0o777 == 0o600
    assert User.objects.get(username="admin").check_password(first["admin_password"] or "")
    assert first["join_token"]
    assert first["setup_open"]
    row = SetupToken.objects.get(user__username="admin")
    assert row.token_hash == token_hash(first["setup_token"] or "")
    second = setup(path)
    assert second["admin_password"] is None
    assert "join_token" not in second
    assert "setup_token" not in second
    assert second["local_token"] == first["local_token"]
    token = selectors.token_get(second["local_token"] or "")
    assert token is not None
    assert token.user.role == User.Role.ADMIN
    assert [p.name for p in tmp_path.iterdir()] == ["setup.json"]


@pytest.mark.django_db(transaction=True)
def test_a_password_that_could_not_be_written_is_not_set(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        setup(tmp_path / "missing" / "setup.json")
    assert not User.objects.exists()


@pytest.fixture
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.SHOAL_HOME = tmp_path
    return tmp_path


@pytest.mark.parametrize("file", ["client.json", "setup.json"])
def test_the_token_of_whoever_holds_it_goes_on_working(db: None, home: Path, file: str) -> None:
    """`shoal up` moves it to client.json; containers leave it where it was written."""
    output = home / "setup.json"
    first = setup(output)["local_token"]
    if file == "client.json":
        (home / file).write_text(json.dumps({"token": first}))
        output.unlink()
    assert setup(output)["local_token"] == first
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"token": 5}', '{"token": "of nobody"}', '{"token": "revoked"}']
)
def test_one_that_opens_nothing_is_replaced(db: None, home: Path, text: str) -> None:
    output = home / "setup.json"
    first = setup(output)["local_token"]
    output.unlink()
    (home / "client.json").write_text(text.replace("revoked", first or ""))
    if "revoked" in text:
        ApiToken.objects.all().delete()
    second = setup(output)["local_token"]
    assert second != first
    assert selectors.token_get(second or "") is not None

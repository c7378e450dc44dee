"""The command that makes an installation usable writes secrets privately and can be repeated."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from controlplane.accounts import selectors
from controlplane.accounts.models import SetupToken, User
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
    assert selectors.token_get(first["local_token"] or "") is None
    token = selectors.token_get(second["local_token"] or "")
    assert token is not None
    assert token.user.role == User.Role.ADMIN
    assert [p.name for p in tmp_path.iterdir()] == ["setup.json"]


@pytest.mark.django_db(transaction=True)
def test_a_password_that_could_not_be_written_is_not_set(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        setup(tmp_path / "missing" / "setup.json")
    assert not User.objects.exists()

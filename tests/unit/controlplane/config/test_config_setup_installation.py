"""The command that makes an installation usable writes secrets privately and can be repeated."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from cryptography import x509
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from controlplane.accounts import selectors
from controlplane.accounts.models import ApiToken, SetupToken, User
from controlplane.accounts.types import token_hash
from controlplane.core.certificates import SERVER, Signer, hosts, key_pem, pem
from controlplane.nodes import authority
from controlplane.nodes.models import Authority


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


def pair(folder: Path, signer: Signer) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tls.crt").write_text(pem(signer.certificate))
    (folder / "tls.key").write_text(key_pem(signer.key))
    return folder


def test_agents_can_be_told_of_an_authority_before_there_is_one(db: None, tmp_path: Path) -> None:
    now = timezone.now()
    given = Signer.new("ours", now=now, life=timedelta(days=3650))
    folder = pair(tmp_path / "ours", given)
    for _ in range(2):
        told = setup(tmp_path / "setup.json", "--agents-authority", str(folder))
        assert told["agents_authority"] == pem(given.certificate)
    signed = authority.server_pair(["agents"], now)
    x509.load_pem_x509_certificate(signed.certificate.encode()).verify_directly_issued_by(
        given.certificate
    )
    other = Signer.new("another", now=now, life=timedelta(days=3650))
    with pytest.raises(CommandError, match="another authority signs here already"):
        setup(tmp_path / "setup.json", "--agents-authority", str(pair(tmp_path / "another", other)))
    assert authority.authorities_pem(now) == pem(given.certificate)


def test_what_cannot_sign_is_no_authority(db: None, tmp_path: Path) -> None:
    now = timezone.now()
    given = Signer.new("ours", now=now, life=timedelta(days=3650))
    ended = Signer.new("ended", now=now - timedelta(days=9), life=timedelta(days=1))
    leaf = Signer(
        given.signed(
            "leaf", given.key.public_key(), usage=SERVER, alternatives=hosts(["a"]), now=now,
            life=timedelta(days=9),
        ),
        given.key,
    )  # fmt: skip
    stranger = Signer(given.certificate, ended.key)
    for wrong, expected in (
        (leaf, "CA:TRUE"),
        (stranger, "the key of this certificate"),
        (ended, "valid now"),
    ):
        folder = pair(tmp_path / "wrong", wrong)
        with pytest.raises(CommandError, match=expected):
            setup(tmp_path / "setup.json", "--agents-authority", str(folder))
    with pytest.raises(CommandError, match=r"tls\.crt"):
        setup(tmp_path / "setup.json", "--agents-authority", str(tmp_path / "missing"))
    assert not Authority.objects.exists()
    assert not User.objects.exists()

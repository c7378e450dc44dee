"""`shoal model sign`, `signature`, `signing-key`: what is made here, what is sent, what is not."""

import base64
import hashlib
import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal.cli.main import main
from shoal.signing.secret_key import KeyUnusable, new_key, scrypt_costs, secret_key
from shoal.signing.statements import ed25519
from tests.support.minisign_files import FOLDER, PASSWORD, ada, bob, signed, text
from tests.support.shoal_server import FakeServer
from wire.minisign import public_keys, signature_of, signer
from wire.statement import files_digest, statement

Capture = pytest.CaptureFixture[str]
DIGEST = files_digest([("digits/1/model.onnx", 7, hashlib.sha256(b"weights").hexdigest())])
SIGNATURES = "/models/digits/versions/(3|latest)/signatures"
PLAIN_KEY = str(FOLDER / "plain.key")
PLAIN_PUB = str(FOLDER / "plain.pub")


def kept(*texts: str) -> dict[str, Any]:
    items = [
        {
            "key_id": "whatever the server says",
            "counts": True,
            "comment": "Ada",
            "trusted_comment": "timestamp:1\tfile:x",
            "uploaded_by": "dora",
            "uploaded_at": "2026-01-01T00:00:00Z",
            "signature": each,
        }
        for each in texts
    ]
    return {
        "model": "digits",
        "version": 3,
        "config_revision": 0,
        "digest": DIGEST,
        "statement": statement(DIGEST).decode(),
        "required": True,
        "signed": bool(items),
        "items": items,
    }


class Signatures:
    """The REST resource of signatures: keeps what it is sent."""

    def __init__(self, server: FakeServer, shown: dict[str, Any]) -> None:
        self.sent: list[dict[str, Any]] = []
        self.queries: list[dict[str, str]] = []
        self._shown = shown
        server.fail_next(f"GET {SIGNATURES}", self._get)
        server.fail_next(f"POST {SIGNATURES}", self._post)

    def _get(self, request: httpx.Request) -> httpx.Response:
        self.queries.append(dict(request.url.params))
        return httpx.Response(200, json=self._shown)

    def _post(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(json.loads(request.content))
        return httpx.Response(201, json=kept(self.sent[-1]["signature"]))


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda words: monkeypatch.setattr("sys.stdin", io.StringIO(words))


def test_a_version_is_signed_with_a_key_of_minisign(installed: FakeServer, capsys: Capture) -> None:
    resource = Signatures(installed, kept())
    assert main(["model", "sign", "--name", "digits", "--version", "3", "--key", PLAIN_KEY]) == 0
    (sent,) = resource.sent
    made = signature_of(sent["signature"])
    assert sent["config_revision"] == 0
    assert signer(public_keys(text("plain.pub")), made, statement(DIGEST), ed25519)
    assert "file:digits-3.statement" in made.trusted_comment
    said = capsys.readouterr()
    assert "Model digits version 3 is signed by 11BA528D52290C3C" in said.err
    assert "--path FOLDER" in said.err
    secret = text("plain.key").splitlines()[1]
    assert secret not in json.dumps(sent) + said.out + said.err


def test_a_revision_is_asked_for_by_its_number(installed: FakeServer) -> None:
    resource = Signatures(installed, {**kept(), "config_revision": 2})
    command = [
        "model",
        "sign",
        "--name",
        "digits",
        "-v",
        "3",
        "-k",
        PLAIN_KEY,
        "--config-revision",
        "2",
    ]
    assert main(command) == 0
    assert (resource.queries, resource.sent[0]["config_revision"]) == (
        [{"config_revision": "2"}],
        2,
    )


def test_a_password_is_read_from_stdin(
    installed: FakeServer, stdin: Callable[[str], None], capsys: Capture
) -> None:
    resource = Signatures(installed, kept())
    key = ["--key", str(FOLDER / "password.key"), "--password-stdin"]
    stdin("wrong\n")
    assert main(["model", "sign", "--name", "digits", *key]) == 1
    assert "Wrong password" in capsys.readouterr().err
    assert resource.sent == []
    stdin(f"{PASSWORD}\n")
    Signatures(installed, kept())
    assert main(["model", "sign", "--name", "digits", *key]) == 0
    assert "15AA4AFC311BB6F5" in capsys.readouterr().err


@pytest.mark.parametrize("digest", ["", "x" * 64, DIGEST[:-1], DIGEST.upper(), "Pay Eve 1000 "])
def test_nothing_else_is_signed_for_a_server_that_lies(
    installed: FakeServer, capsys: Capture, digest: str
) -> None:
    lie = {**kept(), "digest": digest, "statement": "I owe Eve a thousand.\n"}
    resource = Signatures(installed, lie)
    assert main(["model", "sign", "--name", "digits", "--key", PLAIN_KEY]) == 1
    assert "sent no digest" in capsys.readouterr().err
    assert resource.sent == []


def test_the_statement_is_made_here_whatever_the_server_calls_it(installed: FakeServer) -> None:
    resource = Signatures(installed, {**kept(), "statement": "I owe Eve a thousand.\n"})
    assert main(["model", "sign", "--name", "digits", "--key", PLAIN_KEY]) == 0
    made = signature_of(resource.sent[0]["signature"])
    assert signer((ada().public,), made, statement(DIGEST), ed25519)


def test_own_files_are_compared_before_anything_is_signed(
    installed: FakeServer, capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / "digits" / "1").mkdir(parents=True)
    model = tmp_path / "digits" / "1" / "model.onnx"
    model.write_bytes(b"weights")
    command = ["model", "sign", "--name", "digits", "--key", PLAIN_KEY, "--path", str(tmp_path)]
    Signatures(installed, kept())
    assert main(command) == 0
    assert "--path FOLDER" not in capsys.readouterr().err
    for change in (lambda: model.write_bytes(b"weighty"), model.unlink):
        resource = Signatures(installed, kept())
        installed.faults = installed.faults[-2:]
        change()
        assert main(command) == 1
        assert resource.sent == []
    assert "holds no files" in capsys.readouterr().err


def test_what_is_no_key_is_told(installed: FakeServer, capsys: Capture) -> None:
    resource = Signatures(installed, kept())
    assert main(["model", "sign", "--name", "digits", "--key", PLAIN_PUB]) == 1
    assert "This is no secret key of minisign" in capsys.readouterr().err
    assert resource.sent == []


def test_signatures_are_fetched_and_checked_here(
    installed: FakeServer, capsys: Capture, tmp_path: Path
) -> None:
    Signatures(installed, kept(signed(DIGEST, bob()), text("digits.statement.minisig")))
    command = ["model", "signature", "--name", "digits", "-v", "3", "--public-key", PLAIN_PUB]
    assert main([*command, "--download-path", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "Checked here: signed by the key in" in said.err
    assert "Ada" in said.out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "digits-3.statement",
        "digits-3.statement.11BA528D52290C3C.minisig",
        "digits-3.statement.minisig",
    ]
    assert (tmp_path / "digits-3.statement").read_text() == text("digits.statement")
    theirs = tmp_path / "digits-3.statement.11BA528D52290C3C.minisig"
    assert theirs.read_text() == text("digits.statement.minisig")


@pytest.mark.parametrize(
    "texts", [(), (signed(DIGEST, bob()),), (signed("0" * 64),), ("no signature",)]
)
def test_the_servers_word_is_not_taken_for_a_signature(
    installed: FakeServer, capsys: Capture, texts: tuple[str, ...]
) -> None:
    Signatures(installed, {**kept(*texts), "signed": True})
    assert main(["model", "signature", "--name", "digits", "--public-key", PLAIN_PUB]) == 1
    assert "has not signed this" in capsys.readouterr().err


def test_a_server_names_no_files_here(installed: FakeServer, tmp_path: Path) -> None:
    lie = {**kept(signed(DIGEST), signed(DIGEST, bob())), "model": "../../evil"}
    lie["items"][1]["key_id"] = "/../../evil"
    Signatures(installed, lie)
    below = tmp_path / "a" / "b"
    assert main(["model", "signature", "--name", "digits", "--download-path", str(below)]) == 0
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(below.iterdir())


def test_keys_are_made_here(tmp_path: Path, stdin: Callable[[str], None], capsys: Capture) -> None:
    assert main(["signing-key", "create", str(tmp_path / "ci"), "--no-password"]) == 0
    key = secret_key((tmp_path / "ci.key").read_text())
    assert public_keys((tmp_path / "ci.pub").read_text())[0].public == key.public.public
    assert key.public.name in capsys.readouterr().out
    assert stat.S_IMODE((tmp_path / "ci.key").stat().st_mode) == 0o600
    before = (tmp_path / "ci.key").read_text()
    assert main(["signing-key", "create", str(tmp_path / "ci"), "--no-password"]) == 1
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "ci.key").read_text() == before
    stdin("\n")
    assert main(["signing-key", "create", str(tmp_path / "empty"), "--password-stdin"]) == 2
    assert not (tmp_path / "empty.key").exists()


def test_a_secret_key_is_hidden_by_its_password() -> None:
    key = new_key()
    hidden = key.file("pass", operations=1, memory_bytes=1)
    assert secret_key(hidden, "pass") == key
    with pytest.raises(KeyUnusable, match="Wrong password"):
        secret_key(hidden, "")
    assert secret_key(text("password.key"), PASSWORD).public.file() == text("password.pub")


def test_scrypt_costs_what_libsodium_makes_of_its_limits() -> None:
    assert scrypt_costs(1 << 25, 1 << 30) == (1 << 20, 8, 1)  # minisign's, and ours
    assert scrypt_costs(524288, 1 << 24) == (1 << 14, 8, 1)  # libsodium's "interactive"
    assert scrypt_costs(1 << 20, 1 << 20) == (1 << 10, 8, 32)  # little memory, many rounds
    assert scrypt_costs(0, 0) == (2, 8, 512)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda raw: raw[:-1], "157 bytes, expected 158"),
        (lambda raw: b"XX" + raw[2:], "unknown algorithms"),
        (lambda raw: raw[:2] + b"Xc" + raw[4:], "unknown algorithms"),
        (lambda raw: raw[:70] + b"x" + raw[71:], "two halves"),
        (lambda raw: raw[:2] + b"Sc" + raw[4:38] + b"\xff" * 16 + raw[54:], "bytes of memory"),
    ],
)
def test_a_damaged_secret_key_says_what_is_wrong(
    change: Callable[[bytes], bytes], told: str
) -> None:
    first, line = text("plain.key").splitlines()
    line = base64.b64encode(change(base64.b64decode(line))).decode()
    with pytest.raises(KeyUnusable, match=told):
        secret_key(f"{first}\n{line}\n", "pass")


def test_an_installation_is_told_whom_to_trust(installed: FakeServer, capsys: Capture) -> None:
    row = {
        "key_id": "11BA528D52290C3C",
        "public_key": "RWQ8",
        "comment": "Ada",
        "added_by": "root",
        "created_at": "2026-01-01T00:00:00Z",
    }
    sent: list[Any] = []

    def add(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(201, json=row)

    installed.fail_next("POST /signing-keys", add)
    installed.fail_next("GET /signing-keys", lambda _: httpx.Response(200, json={"items": [row]}))
    installed.fail_next("DELETE /signing-keys/11BA528D52290C3C", lambda _: httpx.Response(204))
    assert main(["signing-key", "add", PLAIN_PUB, "--comment", "Ada"]) == 0
    assert sent == [{"public_key": text("plain.pub"), "comment": "Ada"}]
    assert main(["signing-key", "list"]) == 0
    assert "Ada" in capsys.readouterr().out
    assert main(["signing-key", "remove", "11BA528D52290C3C"]) == 0
    assert "count no more" in capsys.readouterr().err

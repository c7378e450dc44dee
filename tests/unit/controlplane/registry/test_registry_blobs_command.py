"""`manage.py blobs`: what a backup reads of a store, and how a restore fills another."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from controlplane.registry.stores import blob_store

CONTENTS = (b"weights of a net", b"", b"weights of another")
NAMES = [hashlib.sha256(content).hexdigest() for content in CONTENTS]
OTHER = "f" * 64


class Pipes:
    """Standard input and output of the program, in memory."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def run(self, verb: str, given: bytes | list[str]) -> bytes:
        data = given if isinstance(given, bytes) else "\n".join(given).encode()
        out = io.BytesIO()
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        stdout = io.TextIOWrapper(out, write_through=True)
        self._patch.setattr("sys.stdout", stdout)
        call_command("blobs", verb, stdout=stdout)
        return out.getvalue()


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch) -> Pipes:
    return Pipes(monkeypatch)


@pytest.fixture(autouse=True)
def filled(settings: Settings, tmp_path: Path) -> None:
    settings.SHOAL_BLOB_DIR, settings.SHOAL_UPLOAD_DIR = tmp_path / "blobs", tmp_path / "uploads"
    for name, content in zip(NAMES, CONTENTS, strict=True):
        source = tmp_path / "source"
        source.write_bytes(content)
        blob_store().put(source, name)


def test_what_leaves_one_store_fills_another(
    pipes: Pipes, settings: Settings, tmp_path: Path
) -> None:
    stream = pipes.run("export", NAMES)
    with tarfile.open(fileobj=io.BytesIO(stream)) as tar:
        assert tar.getnames() == [f"blobs/{name[:2]}/{name}" for name in NAMES]
    settings.SHOAL_BLOB_DIR = tmp_path / "others"
    assert pipes.run("strangers", NAMES).strip() == b"0"
    pipes.run("import", stream)
    assert pipes.run("check", NAMES) == b""
    assert pipes.run("strangers", NAMES[1:]).strip() == b"1"
    assert sorted(blob_store().names()) == sorted(NAMES)
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.parametrize("verb", ["export", "check"])
def test_one_that_is_away_is_named(pipes: Pipes, verb: str) -> None:
    with pytest.raises(CommandError, match=f"The blob {OTHER} is not there"):
        pipes.run(verb, [*NAMES, OTHER])


def test_one_that_is_not_what_it_says_is_named(pipes: Pipes, tmp_path: Path) -> None:
    path = tmp_path / "blobs" / NAMES[0][:2] / NAMES[0]
    path.chmod(0o644)
    path.write_bytes(b"other bytes")
    with pytest.raises(CommandError, match=f"The blob {NAMES[0]} has other bytes"):
        pipes.run("check", NAMES)


def test_one_that_lost_bytes_is_made_whole_by_an_import(pipes: Pipes, tmp_path: Path) -> None:
    """Of the same size it was taken for the one that came."""
    stream = pipes.run("export", NAMES)
    path = tmp_path / "blobs" / NAMES[0][:2] / NAMES[0]
    path.chmod(0o644)
    path.write_bytes(bytes(len(CONTENTS[0])))
    pipes.run("import", stream)
    assert path.read_bytes() == CONTENTS[0]
    assert pipes.run("check", NAMES) == b""


def test_a_forged_one_comes_into_no_store(pipes: Pipes) -> None:
    stream = pipes.run("export", NAMES[:1]).replace(CONTENTS[0], b"forged weights !")
    blob_store().remove(NAMES[0])
    with pytest.raises(CommandError, match="has other bytes than its name says"):
        pipes.run("import", stream)
    assert blob_store().missing(NAMES) == {NAMES[0]}

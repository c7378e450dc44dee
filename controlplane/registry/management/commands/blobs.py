"""``manage.py blobs``: the bytes of models as a stream, for `shoal backup` and `shoal restore`."""

import hashlib
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.core.errors import DomainError
from controlplane.registry.stores import BlobStore, blob_store

CHUNK = 1 << 20


class Command(BaseCommand):
    help = (
        "Write blobs to standard output as a tar, put those of standard input in, read whether "
        "they are whole, or count others. Names come a line each on standard input."
    )

    # why none: they read every URL of the control plane, which takes longer than a small bucket
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("export", help="write the named ones to standard output, as a tar")
        verbs.add_parser("import", help="put in those of the tar on standard input")
        verbs.add_parser("check", help="read the named ones; exit code 1 when one is not whole")
        verbs.add_parser("strangers", help="say how many there are that were not named")

    def handle(self, *_args: Any, verb: str, **_options: Any) -> None:
        store = blob_store()
        try:
            match verb:
                case "export":
                    _export(store, _names(), sys.stdout.buffer)
                case "import":
                    _import(store, sys.stdin.buffer)
                case "check":
                    for sha256 in _names():
                        _check(store, sha256)
                case _:
                    named = set(_names())
                    self.stdout.write(str(sum(one not in named for one in store.names())))
        except DomainError as error:
            raise CommandError(" ".join((error.message, *error.hints))) from error


def _names() -> list[str]:
    return sys.stdin.read().split()


def _export(store: BlobStore, names: Iterable[str], out: IO[bytes]) -> None:
    with tarfile.open(fileobj=out, mode="w|") as tar:
        for sha256 in names:
            with _opened(store, sha256) as body:
                member = tarfile.TarInfo(f"blobs/{sha256[:2]}/{sha256}")
                member.size = store.size(sha256) or 0
                tar.addfile(member, body)


def _import(store: BlobStore, source: IO[bytes]) -> None:
    folder = settings.SHOAL_UPLOAD_DIR
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".blobs-", dir=folder) as staging:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            for member in tar:
                body = tar.extractfile(member)
                if body is None:
                    raise CommandError(f"{member.name!r} is no file.")
                sha256, staged = PurePosixPath(member.name).name, Path(staging) / "blob"
                with staged.open("wb") as target:
                    _refuse_other(sha256, _digest(body, target))
                _make_room(store, sha256)
                store.put(staged, sha256)


def _make_room(store: BlobStore, sha256: str) -> None:
    """Stores keep what they have of that size, but it may have lost bytes since."""
    if store.size(sha256) is None:
        return
    with _opened(store, sha256) as body:
        whole = _digest(body) == sha256
    if not whole:
        store.remove(sha256)


def _check(store: BlobStore, sha256: str) -> None:
    with _opened(store, sha256) as body:
        _refuse_other(sha256, _digest(body))


def _opened(store: BlobStore, sha256: str) -> BinaryIO:
    try:
        return store.open(sha256)
    except FileNotFoundError as error:
        raise CommandError(
            f"The blob {sha256} is not there. It may have been collected just now: try again."
        ) from error


def _digest(body: IO[bytes], target: IO[bytes] | None = None) -> str:
    hashed = hashlib.sha256()
    while piece := body.read(CHUNK):
        hashed.update(piece)
        if target is not None:
            target.write(piece)
    return hashed.hexdigest()


def _refuse_other(sha256: str, found: str) -> None:
    if found != sha256:
        raise CommandError(f"The blob {sha256} has other bytes than its name says ({found}).")

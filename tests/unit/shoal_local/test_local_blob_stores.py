"""A bucket's program that ends in the middle: its reason is told, and nothing hangs or stays."""

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from shoal.local.archive import BackupError, blob_name, header
from shoal.local.blob_stores import Bucket

CONTENT = os.urandom(300_000)
NAME = hashlib.sha256(CONTENT).hexdigest()


def bucket(folder: Path, program: str) -> Bucket:
    """One whose program is ``program``, in the place of the control plane's."""
    (folder / "django").mkdir()
    (folder / "django" / "__init__.py").touch()
    (folder / "django" / "__main__.py").write_text(program)
    return Bucket("s3://models/a?endpoint=x", {**os.environ, "PYTHONPATH": str(folder)})


def stream() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(header(blob_name(NAME), len(CONTENT)), io.BytesIO(CONTENT))
    return out.getvalue()


GIVES = (
    "import sys; sys.stdout.buffer.write(open({file!r}, 'rb').read()[:{most}]); sys.stdout.flush()"
)
FAILS = "; sys.exit('CommandError: the bucket went away')"


@pytest.mark.parametrize(
    ("most", "ends", "said"),
    [
        (100_000, FAILS, "s3://models/a: the bucket went away"),
        (0, FAILS, "s3://models/a: the bucket went away"),
        (100_000, "", "s3://models/a: its bytes end in the middle"),
        (10_000_000, FAILS, "s3://models/a: the bucket went away"),
    ],
)
def test_what_ends_in_the_middle_says_why(most: int, ends: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "stream").write_bytes(stream())
    given = bucket(tmp_path, GIVES.format(file=str(tmp_path / "stream"), most=most) + ends)
    with pytest.raises(BackupError, match=said):
        for _, _, source in given.export({NAME: len(CONTENT)}):
            while source.read(10_000):
                pass


def test_what_is_whole_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "stream").write_bytes(stream())
    given = bucket(tmp_path, GIVES.format(file=str(tmp_path / "stream"), most=10_000_000))
    found = [(name, source.read()) for name, _, source in given.export({NAME: len(CONTENT)})]
    assert found == [(blob_name(NAME), CONTENT)]


def test_what_does_not_take_all_says_why(tmp_path: Path) -> None:
    given = bucket(tmp_path, "import sys; sys.stdin.buffer.read(1000)" + FAILS)
    with pytest.raises(BackupError, match="the bucket went away"), given.taking() as take:
        for _ in range(20):
            take(NAME, len(CONTENT), io.BytesIO(CONTENT))


def test_who_gives_up_ends_the_program(tmp_path: Path) -> None:
    (tmp_path / "stream").write_bytes(stream())
    given = bucket(tmp_path, GIVES.format(file=str(tmp_path / "stream"), most=10_000_000))
    exported = given.export({NAME: len(CONTENT)})
    next(exported)
    with pytest.raises(RuntimeError, match="no room"):
        exported.throw(RuntimeError("no room"))

"""Where the files of models lie, as a backup reads them and a restore puts them back."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol
from urllib.parse import urlsplit

from shoal.local.archive import CHUNK, BackupError, Hashing, Readable, Source, blob_name, header

GRACE_S: Final = 5
AGAIN = "It may have been collected just now: try again."


class Taker(Protocol):
    def __call__(self, sha256: str, size: int, source: Readable) -> None: ...


class Blobs(Protocol):
    """All raise BackupError, which says what is missing or cannot be reached."""

    def export(self, names: Mapping[str, int]) -> Iterator[Source]:
        """Each of them, in this order."""

    def taking(self) -> AbstractContextManager[Taker]:
        """To put blobs in; all are there when the context is left."""

    def check(self, names: Iterable[str]) -> None:
        """Each is there and is what its name says."""

    def strangers(self, names: Iterable[str]) -> int:
        """How many there are that are none of these."""


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    def __str__(self) -> str:
        return f"the folder {self.path}"

    def file(self, sha256: str) -> Path:
        return self.path / sha256[:2] / sha256

    def export(self, names: Mapping[str, int]) -> Iterator[Source]:
        for sha256 in names:
            with self._open(sha256) as source:
                yield blob_name(sha256), os.fstat(source.fileno()).st_size, source

    @contextmanager
    def taking(self) -> Iterator[Taker]:
        yield self._take

    def check(self, names: Iterable[str]) -> None:
        for sha256 in names:
            with self._open(sha256) as source:
                hashed = Hashing(source)
                while hashed.read(CHUNK):
                    pass
            if hashed.hexdigest != sha256:
                raise BackupError(f"{self.file(sha256)} has other bytes than its name says.")

    def strangers(self, names: Iterable[str]) -> int:
        there = {path.name for path in self.path.glob("??/*") if not path.name.startswith(".")}
        return len(there - set(names))

    def _open(self, sha256: str) -> IO[bytes]:
        try:
            return self.file(sha256).open("rb")
        except FileNotFoundError as error:
            raise BackupError(
                f"The blob {sha256} of the database is not at {self.file(sha256)}. {AGAIN}"
            ) from error

    def _take(self, sha256: str, size: int, source: Readable) -> None:
        del size
        target = self.file(sha256)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = target.with_name(f".{sha256}.restored")
        try:
            with staged.open("wb") as out:
                shutil.copyfileobj(source, out, CHUNK)
                out.flush()
                os.fsync(out.fileno())
            staged.chmod(0o444)
            staged.replace(target)
        finally:
            staged.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Reached by the control plane's own program for it (`manage.py blobs`), a process beside this
    one: how a bucket is found and signed for is known in one place."""

    url: str
    environment: Mapping[str, str]  # with what the control plane's settings need

    def __str__(self) -> str:
        parts = urlsplit(self.url)  # without the query, which says how to get there
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def export(self, names: Mapping[str, int]) -> Iterator[Source]:
        with self._program("export", names) as child:
            assert child.stdout is not None  # noqa: S101 - of a pipe
            with self._said(child), tarfile.open(fileobj=child.stdout, mode="r|") as tar:
                for member in tar:
                    source = tar.extractfile(member)
                    if source is None:
                        raise BackupError(f"{self} gave {member.name!r}, which is no file.")
                    yield member.name, member.size, _Watched(source, self, child)

    @contextmanager
    def taking(self) -> Iterator[Taker]:
        with self._program("import", ()) as child:
            assert child.stdin is not None  # noqa: S101 - of a pipe
            with self._said(child):
                with tarfile.open(fileobj=child.stdin, mode="w|") as tar:

                    def take(sha256: str, size: int, source: Readable) -> None:
                        tar.addfile(header(blob_name(sha256), size), source)

                    yield take
                child.stdin.close()

    def check(self, names: Iterable[str]) -> None:
        with self._program("check", names):
            pass

    def strangers(self, names: Iterable[str]) -> int:
        with self._program("strangers", names) as child:
            assert child.stdout is not None  # noqa: S101 - of a pipe
            return int(child.stdout.read() or 0)

    @contextmanager
    def _program(self, verb: str, names: Iterable[str]) -> Iterator["_Child"]:
        """Runs while the context lasts; its failure is a BackupError with what it said."""
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as asked:
            asked.write("\n".join(names).encode())
            asked.seek(0)
            child = _Child(
                [sys.executable, "-m", "django", "blobs", verb],
                env={
                    **self.environment,
                    "SHOAL_BLOB_URL": self.url,
                    "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
                },
                stdin=subprocess.PIPE if verb == "import" else asked,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            child.errors = errors
            try:
                yield child
                self._ended(child)
            finally:
                for pipe in (child.stdin, child.stdout):
                    if pipe is not None:
                        _close(pipe)
                # why not at once: it notices, and takes away what it has half of
                try:
                    child.wait(GRACE_S)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()

    @contextmanager
    def _said(self, child: "_Child") -> Iterator[None]:
        """A stream that ends in the middle is the child's end, which knows why."""
        try:
            yield
        except (tarfile.ReadError, BrokenPipeError) as error:
            self._ended(child)
            raise BackupError(f"{self}: its bytes end in the middle. Try again.") from error

    def _ended(self, child: "_Child") -> None:
        """Raises BackupError unless it ended well."""
        if child.stdout is not None:
            child.stdout.read()  # what it may still say, so that it can end
        if child.wait():
            child.errors.seek(0)
            said = child.errors.read().decode(errors="replace").strip().splitlines()
            last = said[-1] if said else "the program for it ended."
            raise BackupError(f"{self}: {last.removeprefix('CommandError: ')}")


class _Watched:
    """A file of the child's stream, read where this module does not see it fail."""

    def __init__(self, source: Readable, bucket: Bucket, child: "_Child") -> None:
        self._source, self._bucket, self._child = source, bucket, child

    def read(self, size: int = -1, /) -> bytes:
        with self._bucket._said(self._child):
            return self._source.read(size)


class _Child(subprocess.Popen[bytes]):
    errors: IO[bytes]


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # what was not sent yet has no receiver: the child's end said so already

"""What every store of blobs can do. Names are SHA-256 in lower-case hex."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol


class BlobStore(Protocol):
    """All raise core.errors.Unavailable when the store cannot be reached."""

    def size(self, sha256: str) -> int | None:
        """Bytes; None when there is no such blob."""

    def missing(self, hashes: Iterable[str]) -> set[str]:
        """Those that are not there."""

    def put(self, source: Path, sha256: str) -> None:
        """Move the file in, durably; the caller knows that it has this hash. Raises DiskFull."""

    def open(self, sha256: str, first: int = 0) -> BinaryIO:
        """Its bytes from ``first`` on. Raises FileNotFoundError."""

    def place(self, sha256: str, target: Path) -> None:
        """The same bytes as a file of its own, by a link where that is possible."""

    def remove(self, sha256: str) -> None:
        """Harmless when it is not there."""

    def names(self) -> Iterator[str]:
        """Of all that lie here, whoever put them here."""

    def address(self, sha256: str) -> str | None:
        """A URL that gives the bytes to whoever has it, for a while; None: ask us for them."""

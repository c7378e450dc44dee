"""What a signature of a model is about: one short text that names all bytes that would be run.

The text, with a line feed after each line, UTF-8::

    shoal model files, form 1
    sha256 <digest of the files>

The digest is of every file that the runtime finds: edited configurations stand in the place of the
files that they replace. It names no model and no version: the same bytes are the same bytes.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

FIRST_LINE: Final = "shoal model files, form 1"
File = tuple[str, int, str]  # path, size in bytes, SHA-256


def files_digest(files: Iterable[File], texts: Mapping[str, str] | None = None) -> str:
    """SHA-256 over path, size and hash of every file in order of their paths.

    ``texts`` (path -> text) replace files of the same path, or join them. Raises ValueError for a
    path with a NUL, by which two lists could have one digest.
    """
    texts = texts or {}
    found = [file for file in files if file[0] not in texts]
    for path, text in texts.items():
        raw = text.encode()
        found.append((path, len(raw), hashlib.sha256(raw).hexdigest()))
    digest = hashlib.sha256()
    for path, size, sha256 in sorted(found):
        if "\0" in path:
            raise ValueError(f"the path {path!r} has a NUL")
        digest.update(f"{path}\0{size}\0{sha256}\n".encode())
    return digest.hexdigest()


def statement(digest: str) -> bytes:
    """What is signed for files of this digest."""
    return f"{FIRST_LINE}\nsha256 {digest}\n".encode()

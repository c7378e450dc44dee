"""What a file is, told from its bytes: heads, tails and tables of contents, never all of it.

Opaque bytes are data: nothing opens them as code but what a configuration says, which is told
apart. What is code under every name is told here, and formats that would have to be unpacked to
tell are ``unknown``.
"""

import bz2
import lzma
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from worker_runtime.files.archives import ENDS, tail_of, zip_kinds
from worker_runtime.files.graphs import graph_kinds
from worker_runtime.files.names import DESCRIPTIONS, kind_by_name
from worker_runtime.files.pickles import is_pickle
from worker_runtime.types.code import ENVIRONMENT, LIBRARY, PICKLE, PYTHON, UNKNOWN

Finding = tuple[str, str]  # kind, and a description
HEAD_BYTES: Final = 64 * 2**10
_UNPACKED_BYTES: Final = 64 * 2**10
_MACHINE_CODE: Final = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",  # Mach-O of several machines, and Java
    b"!<arch>\n", b"BC\xc0\xde", b"\xde\xc0\x17\x0b", b"\0asm", b"\x50\xed\x55\xba",
)  # fmt: skip
# Archives and compressed files that are not looked into.
_CLOSED: Final = {
    b"\x28\xb5\x2f\xfd": "a file compressed by zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"hsqs": "a squashfs image",
    b"MSCF": "a cabinet file",
    b"\x04\x22\x4d\x18": "a file compressed by lz4",
    b"xar!": "a xar archive",
    b"070701": "a cpio archive",
}
_OBJECTS: Final = re.compile(rb"""['"][|<>=]?O""")


class Opened(Struct, frozen=True):
    """A file as it is looked at: ``head`` and ``tail`` are its first and last bytes."""

    name: str
    file: BinaryIO
    size: int
    head: bytes
    tail: bytes


def kinds_of_file(path: Path, name: str) -> list[Finding]:
    """What is code in a file, by name and content; each kind once, [] for data.

    ``name`` is how it is called in the repository. A link, and what is no plain file, is
    ``unknown``: following it would tell of something else. What cannot be read is ``unknown``, too.
    """
    found = dict[str, str]()
    by_name = kind_by_name(name)
    if by_name:
        found[by_name] = DESCRIPTIONS[by_name]
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            return [(UNKNOWN, "is a link or no plain file: it cannot be told what it is")]
        with path.open("rb") as file:
            for kind, description in kinds_of(file, name, about.st_size):
                found.setdefault(kind, description)
    except (OSError, MemoryError) as error:
        found.setdefault(UNKNOWN, f"cannot be read to tell what it is: {type(error).__name__}")
    return list(found.items())


def kinds_of(file: BinaryIO, name: str, size: int) -> Iterator[Finding]:
    """The same from an open file of ``size`` bytes, by content alone."""
    head = file.read(HEAD_BYTES)
    opened = Opened(name, file, size, head, tail_of(file, size))
    if not head:
        return
    yield from kinds_of_head(name, head)
    if any(end in opened.tail for end in ENDS) or head.startswith(b"PK\x03\x04"):
        yield from zip_kinds(file, opened.tail, kinds_of_head)
        return
    yield from graph_kinds(file, name, size)


def kinds_of_head(name: str, head: bytes) -> Iterator[Finding]:
    """What the first bytes of a file, or of an entry of an archive, tell."""
    if head.startswith(_MACHINE_CODE) or _is_windows(head):
        yield LIBRARY, DESCRIPTIONS[LIBRARY]
    for magic, format_ in _CLOSED.items():
        if head.startswith(magic):
            yield UNKNOWN, f"is {format_}, which is not looked into"
    yield from _compressed(head)
    if _is_tar(head):
        yield ENVIRONMENT, "is a tar archive, as packed Python environments are"
    if _is_bytecode(head):
        yield PYTHON, "is Python bytecode"
    if is_pickle(head) or _has_objects(head):
        yield PICKLE, DESCRIPTIONS[PICKLE]
    yield from _scripts(name, head)


def _compressed(head: bytes) -> Iterator[Finding]:
    for magic, (format_, unpack) in _COMPRESSED.items():
        if not head.startswith(magic):
            continue
        try:
            inner = unpack(head)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
            inner = b""
        if _is_tar(inner):
            yield ENVIRONMENT, "is a packed archive, as Python environments are"
        elif is_pickle(inner):
            yield PICKLE, DESCRIPTIONS[PICKLE]
        else:
            yield UNKNOWN, f"is compressed by {format_}, and not looked into"
    if head[:1] == b"\x78":
        try:
            inner = zlib.decompressobj().decompress(head, _UNPACKED_BYTES)
        except zlib.error:
            return
        if is_pickle(inner):  # as joblib compresses them
            yield PICKLE, DESCRIPTIONS[PICKLE]
        elif len(head) == HEAD_BYTES and len(inner) < len(head) // 2:
            # why: no compressor makes data twice as long; empty blocks move it out of sight
            yield UNKNOWN, "is compressed so that its beginning does not show what it is"


def _gzip(head: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(head, _UNPACKED_BYTES)


def _bzip2(head: bytes) -> bytes:
    return bz2.BZ2Decompressor().decompress(head, _UNPACKED_BYTES)


def _xz(head: bytes) -> bytes:
    return lzma.LZMADecompressor(memlimit=2**28).decompress(head, _UNPACKED_BYTES)


_COMPRESSED: Final[Mapping[bytes, tuple[str, Callable[[bytes], bytes]]]] = {
    b"\x1f\x8b": ("gzip", _gzip),
    b"BZh": ("bzip2", _bzip2),
    b"\xfd7zXZ\0": ("xz", _xz),
}


def _is_windows(head: bytes) -> bool:
    if not head.startswith(b"MZ"):
        return False
    at = int.from_bytes(head[60:64], "little")
    return head[at : at + 4] == b"PE\0\0"


def _is_tar(head: bytes) -> bool:
    """By its first header's checksum, as Python's tarfile tells it: old ones have no magic."""
    if len(head) < tarfile.BLOCKSIZE:
        return False
    try:
        tarfile.TarInfo.frombuf(head[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return True


def _is_bytecode(head: bytes) -> bool:
    """Every CPython since 3.0 starts so: a number of its own, then CR LF, then small flags."""
    number = int.from_bytes(head[:2], "little")
    flags = int.from_bytes(head[4:8], "little")
    return len(head) > 16 and head[2:4] == b"\r\n" and 3000 <= number < 4000 and flags < 4


def _has_objects(head: bytes) -> bool:
    """A .npy file whose elements are pickled."""
    if not head.startswith(b"\x93NUMPY") or len(head) < 12:
        return False
    width = 2 if head[6] < 2 else 4
    length = int.from_bytes(head[8 : 8 + width], "little")
    header = head[8 + width : 8 + width + length]
    return _OBJECTS.search(header) is not None


def _scripts(name: str, head: bytes) -> Iterator[Finding]:
    if head.startswith(b"#!"):
        line = head.split(b"\n", 1)[0]
        if b"python" in line:
            yield PYTHON, DESCRIPTIONS[PYTHON]
        else:
            yield UNKNOWN, "is a script that some program would run"
    if name.endswith(".pth") and head.isascii() and b"\0" not in head:
        yield PYTHON, "is a path file, whose lines Python may run"
    if name.endswith("saved_model.pbtxt"):
        yield UNKNOWN, "is a SavedModel as text, which is not looked into"

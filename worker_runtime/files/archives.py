"""Zip archives, which PyTorch's three kinds of files and numpy's .npz are: told entry by entry."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import BinaryIO, Final

from worker_runtime.files.names import DESCRIPTIONS, kind_by_name
from worker_runtime.files.pickles import unexpected_globals
from worker_runtime.files.torch_code import exported_kinds, script_kinds
from worker_runtime.types.code import LIBRARY, PICKLE, PYTHON, UNKNOWN

Finding = tuple[str, str]
Head = Callable[[str, bytes], Iterator[Finding]]
ENDS: Final = (b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
# What Python's reader raises over an archive, or an entry of it, that is damaged or encrypted.
TORN: Final = (
    OSError, ValueError, TypeError, LookupError, OverflowError, EOFError, RuntimeError,
    zlib.error, lzma.LZMAError, struct.error,
    zipfile.BadZipFile, zipfile.LargeZipFile,
)  # fmt: skip
_END_BYTES: Final = 65535 + 22 + 20 + 56
_MOST_ENTRIES: Final = 50_000
_LARGEST_TABLE: Final = 16 * 2**20
_LARGEST_READ: Final = 64 * 2**20  # of one entry that has to be read whole
_LARGEST_SUM: Final = 256 * 2**20  # of all of them
_ENTRY_HEAD: Final = 4096
_DEEPEST: Final = 3


def tail_of(file: BinaryIO, size: int) -> bytes:
    """The last bytes, where an archive is found whatever stands before it."""
    file.seek(max(0, size - _END_BYTES))
    return file.read(_END_BYTES)


def zip_kinds(file: BinaryIO, tail: bytes, head: Head, depth: int = 0) -> Iterator[Finding]:
    """What is code in the archive; ``head`` tells what the first bytes of an entry are."""
    size = file.seek(0, 2)
    table, wrong = _table(tail, size)
    if wrong:
        yield UNKNOWN, f"is an archive that its readers may read differently: {wrong}"
    if table > _LARGEST_TABLE:
        yield UNKNOWN, "is an archive of too many files to look at each"
        return
    try:
        with zipfile.ZipFile(file) as archive:
            yield from dict.fromkeys(_Looked(archive, head, depth).kinds())
    except TORN as error:
        yield UNKNOWN, f"is an archive that cannot be looked into: {type(error).__name__}"


def _table(tail: bytes, size: int) -> tuple[int, str]:
    """The bytes of the table of contents as the archive's end says them, and what is odd there.

    Readers differ where the end is not the last thing, where something stands before the archive,
    and where the two forms of the end disagree: one may see files that another does not.
    """
    at = tail.rfind(ENDS[0])
    if at < 0 or at + 22 > len(tail):
        return 0, "its end is torn"
    last = at + 22 == len(tail) and tail[-2:] == b"\0\0"
    if not last and tail.count(ENDS[0]) != 1:
        return 0, "it has several ends"
    length, offset = _number(tail, at + 12, 4), _number(tail, at + 16, 4)
    end = size - len(tail) + at
    if tail[at - 20 : at - 16] == ENDS[2] and at >= 76:
        at -= 76
        end -= 76
        wide = _number(tail, at + 40, 8), _number(tail, at + 48, 8)
        narrow = length, offset
        if tail[at : at + 4] != ENDS[1] or any(
            value not in (0xFFFFFFFF, other) for value, other in zip(narrow, wide, strict=True)
        ):
            return length, "its two ends differ"
        length, offset = wide
    return length, "" if offset + length == end else "something stands before or in it"


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


class _Looked:
    """One archive, each entry's head read once; whole ones within a sum."""

    def __init__(self, archive: zipfile.ZipFile, head: Head, depth: int) -> None:
        self._archive = archive
        self._head = head
        self._depth = depth
        self._read = 0
        self._entries = [item for item in archive.infolist() if not item.is_dir()]
        self._inner = {_inner(item.filename) for item in self._entries}

    def kinds(self) -> Iterator[Finding]:
        if len(self._entries) > _MOST_ENTRIES:
            yield UNKNOWN, "is an archive of too many files to look at each"
            return
        script = "constants.pkl" in self._inner
        exported = any(
            name.startswith("models/") or name == "serialized_exported_program.json"
            for name in self._inner
        )
        known = script or exported or "data.pkl" in self._inner
        plain = all(item.filename.endswith(".npy") for item in self._entries)
        if not known and not plain:
            yield UNKNOWN, "is an archive of a kind that is not known"
        if min((item.header_offset for item in self._entries), default=0):
            yield UNKNOWN, "is an archive behind something else"
        roots = {item.filename.partition("/")[0] for item in self._entries}
        if script and (len(roots) != 1 or "model.json" in self._inner):
            yield UNKNOWN, "is a TorchScript archive as PyTorch does not write them"
        if len({item.filename for item in self._entries}) != len(self._entries):
            yield UNKNOWN, "is an archive with two files of one name"
        for entry in self._entries:
            yield from self._entry(entry, script=script)

    def _entry(self, entry: zipfile.ZipInfo, *, script: bool) -> Iterator[Finding]:
        inner = _inner(entry.filename)
        if "aotinductor" in inner.lower():
            yield LIBRARY, "was compiled by AOTInductor: it holds machine code"
            return
        head = self._first(entry)
        if head.startswith(b"PK\x03\x04"):
            yield from self._nested(entry)
            return
        if script and inner.startswith("code/") and inner.endswith(".py"):
            yield from script_kinds(self._whole(entry))
            return
        if inner.endswith((".pkl", ".debug_pkl")):
            found = unexpected_globals(self._whole(entry), script=script)
            if found:
                yield PICKLE, f"holds a pickle that names {found[0][:200]}"
            return
        if inner.startswith("models/") or inner == "serialized_exported_program.json":
            yield from exported_kinds(self._whole(entry))
            return
        by_name = kind_by_name(inner)
        if by_name in (LIBRARY, PYTHON):
            yield by_name, f"holds {inner[:200]}: {DESCRIPTIONS[by_name]}"
        yield from self._head(inner, head)

    def _nested(self, entry: zipfile.ZipInfo) -> Iterator[Finding]:
        if self._depth >= _DEEPEST:
            yield UNKNOWN, "holds archives in archives in archives"
            return
        data = self._whole(entry)
        file = BytesIO(data)
        yield from zip_kinds(file, tail_of(file, len(data)), self._head, self._depth + 1)

    def _first(self, entry: zipfile.ZipInfo) -> bytes:
        with self._archive.open(entry) as file:
            return file.read(_ENTRY_HEAD)

    def _whole(self, entry: zipfile.ZipInfo) -> bytes:
        """Raises ValueError for what is larger than the bounds, whatever its header says."""
        if entry.file_size > _LARGEST_READ:
            raise ValueError("an entry is too large to be looked into")
        with self._archive.open(entry) as file:
            data = file.read(_LARGEST_READ + 1)
        self._read += len(data)
        if len(data) > _LARGEST_READ or self._read > _LARGEST_SUM:
            raise ValueError("its entries are too large to be looked into")
        return data


def _inner(name: str) -> str:
    """Below the archive's root folder, which PyTorch's own writers make; else as it is."""
    first, slash, rest = name.partition("/")
    known = ("models", "data", "code", "constants")
    return rest if slash and first not in known else name

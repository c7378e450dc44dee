"""A version as a zip that is made while it is sent: stored, in the order of its paths."""

import asyncio
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import BinaryIO, cast

from controlplane.registry.stores import blob_store
from controlplane.registry.types import FileEntry

PIECE_BYTES = 2**20
EPOCH = (1980, 1, 1, 0, 0, 0)  # why fixed: the same version is the same zip


class _Outlet:
    """Where zipfile writes: it keeps the bytes until somebody takes them, and cannot go back."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


async def zip_pieces(
    manifest: Sequence[FileEntry], texts: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """``texts``: path -> content that replaces, or is added to, the files of the manifest."""
    outlet = _Outlet()
    archive = zipfile.ZipFile(cast(BinaryIO, outlet), "w", zipfile.ZIP_STORED, allowZip64=True)
    paths = {entry["path"]: entry for entry in manifest}
    for path in sorted({*paths, *texts}):
        info = zipfile.ZipInfo(path, EPOCH)
        info.external_attr = 0o644 << 16
        if path in texts:
            archive.writestr(info, texts[path].encode())
            yield outlet.take()
            continue
        info.file_size = paths[path]["size"]
        source = await asyncio.to_thread(_open, paths[path]["sha256"])
        with source, archive.open(info, "w", force_zip64=info.file_size >= 2**31) as target:
            while piece := await asyncio.to_thread(source.read, PIECE_BYTES):
                target.write(piece)
                yield outlet.take()
        yield outlet.take()
    archive.close()
    yield outlet.take()


def _open(sha256: str) -> BinaryIO:
    return blob_store().open(sha256)

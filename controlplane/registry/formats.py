"""What kind of file an upload is, by its first bytes; names only break ties."""

import tarfile
from enum import Enum, auto
from pathlib import Path

from controlplane.registry.errors import IngestFailed

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
COMPRESSED_TAR = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
HEAD_BYTES = 512
SHOWN_BYTES = 16


class Format(Enum):
    ONNX = auto()
    ARCHIVE = auto()


def detect(path: Path, filename: str) -> Format:
    """Raises IngestFailed, in words, for what can be neither a model nor an archive of models."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    suffix = Path(filename).suffix.lower()
    if suffix in {".pt", ".pth"}:
        raise _unsupported("TorchScript", "Export it with torch.onnx.export and upload the .onnx.")
    if suffix in {".plan", ".engine"}:
        raise _unsupported("TensorRT", "Upload the .onnx that the plan was built from.")
    if head.startswith((*ZIP, *COMPRESSED_TAR)) or _is_tar(head):
        return Format.ARCHIVE
    if suffix == ".onnx":
        return Format.ONNX  # whether it truly is one, the inspection says
    raise IngestFailed(
        f"This is not an ONNX file or a Triton repository (.zip, .tar.gz). Found: {_magic(head)}.",
        code="UnknownFile",
        hints=("Upload a single .onnx file, or a .zip of a folder such as digits/1/model.onnx.",),
    )


def _unsupported(kind: str, hint: str) -> IngestFailed:
    return IngestFailed(
        f"{kind} models cannot be served yet.", code="BackendUnsupported", hints=(hint,)
    )


def _is_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _magic(head: bytes) -> str:
    shown = head[:SHOWN_BYTES]
    if shown.isascii() and shown.decode("ascii").isprintable() and shown:
        return f"text beginning with {shown.decode('ascii')!r}"
    return f"bytes {shown.hex(' ')}" if shown else "an empty file"

"""What kind of file an upload is, by its first bytes; names only break ties."""

import tarfile
from enum import Enum, auto
from pathlib import Path

from controlplane.registry.errors import IngestFailed

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
COMPRESSED_TAR = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
HEAD_BYTES = 512
SHOWN_BYTES = 16
# Names that say what a single file is, whatever it begins with: whether it truly is one, the
# inspection says. PyTorch's files are zips themselves.
SINGLE = {".onnx", ".pt", ".pth", ".pt2", ".plan", ".engine", ".py", ".graphdef", ".ubj"}
XGBOOST = b'"learner"'
LIGHTGBM = b"tree\n"


class Format(Enum):
    SINGLE = auto()
    ARCHIVE = auto()


def detect(path: Path, filename: str) -> Format:
    """Raises IngestFailed, in words, for what can be neither a model nor an archive of models."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    suffix = Path(filename).suffix.lower()
    if suffix in SINGLE:
        return Format.SINGLE
    if head.startswith((*ZIP, *COMPRESSED_TAR)) or _is_tar(head):
        return Format.ARCHIVE
    if suffix == ".xml":
        raise IngestFailed(
            "An OpenVINO model is two files: the graph (.xml) and its weights (.bin).",
            code="WeightsMissing",
            hints=("Upload a .zip with both.",),
        )
    if _is_trees(path, head, suffix):
        return Format.SINGLE
    raise IngestFailed(
        f"This is not a model or a Triton repository (.zip, .tar.gz). Found: {_magic(head)}.",
        code="UnknownFile",
        hints=(
            "Upload a single .onnx, .pt, .pt2, .py, .plan, XGBoost .json/.ubj or LightGBM .txt.",
            "Or a .zip of a folder such as digits/1/model.onnx, or of several of them.",
        ),
    )


def single_name(path: Path, filename: str) -> str:
    """What the only file of a model should be called, so that its kind can be told by it."""
    name = Path(filename).name
    suffix = Path(filename).suffix.lower()
    if suffix == ".py":
        return "model.py"
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if _is_trees(path, head, suffix):
        return "model.txt" if head.startswith(LIGHTGBM) else "xgboost.json"
    return name


def _is_trees(path: Path, head: bytes, suffix: str) -> bool:
    """XGBoost's JSON, or LightGBM's text."""
    if head.startswith(LIGHTGBM):
        return True
    if suffix != ".json" or not head.lstrip().startswith(b"{"):
        return False
    with path.open("rb") as file:
        return XGBOOST in file.read(2**20)


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

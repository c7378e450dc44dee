"""Turns what a person points at (file, folder, archive) into one file to upload.

A folder becomes an uncompressed zip (weights do not shrink) laid out as a Triton model repository.
Names and times inside are fixed, so the same folder gives the same bytes.
"""

import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.client.errors import UnusableSource

SKIPPED = {".git", ".DS_Store", "__MACOSX", "__pycache__"}
_EPOCH = (1980, 1, 1, 0, 0, 0)
_COPY_BYTES = 1 << 20

OnBytes = Callable[[int, int], None]  # done, total


@dataclass(frozen=True, slots=True)
class Package:
    """``path`` is what to send, ``filename`` what to call it, ``note`` what was done to get it."""

    path: Path
    filename: str
    note: str = ""


@contextmanager
def packed(
    source: Path, on_bytes: OnBytes | None = None, *, serve_as: str | None = None
) -> Iterator[Package]:
    """The package of ``source``; a zip made on the way is removed afterwards.

    ``serve_as`` is what clients shall call the model of a single file; default: the file's name.
    Folders and archives name their models themselves.

    Raises UnusableSource when nothing in it looks like a model.
    """
    if source.is_file():
        beside = _external_data(source)
        if not beside:
            named = serve_as is not None and source.suffix == ".onnx"
            yield Package(source, f"{serve_as}.onnx" if named else source.name)
            return
        stem = serve_as or source.stem
        entries = [(path, f"{stem}/1/{path.name}") for path in (source, *beside)]
        # why: the graph names its weights file, but the runtime looks for model.onnx
        entries[0] = (source, f"{stem}/1/model.onnx")
        note = f"{source.name} and its weights {', '.join(path.name for path in beside)}"
    elif source.is_dir():
        prefix, note = _layout(source)
        entries = _graph_first_named([(path, f"{prefix}{name}") for path, name in _walk(source)])
        if not any(path.is_file() for path, _ in entries):
            raise UnusableSource("The folder is empty", str(source))
        stem = source.resolve().name
    else:
        raise UnusableSource(
            "No such file or folder", str(source), ["Give an .onnx file, a folder or a .zip."]
        )
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        target = Path(folder) / f"{stem}.zip"
        try:
            _write_zip(target, entries, on_bytes)
        except OSError as error:
            raise UnusableSource(
                "The folder cannot be packed",
                str(error),
                [f"Packing needs as much free space in {tempfile.gettempdir()} as the folder has "
                 "bytes; TMPDIR names another place."],
            ) from error  # fmt: skip
        yield Package(target, target.name, note)


def _external_data(source: Path) -> list[Path]:
    """Weights that an ONNX exporter put beside the graph."""
    if source.suffix != ".onnx":
        return []
    names = (f"{source.name}.data", f"{source.name}_data", f"{source.stem}.data")
    return [path for name in names if (path := source.with_name(name)).is_file()]


def _layout(folder: Path) -> tuple[str, str]:
    """Prefix for every entry, and a note: a bare model folder becomes a repository of one model."""
    children = [child for child in folder.iterdir() if child.name not in SKIPPED]
    name = folder.resolve().name
    config = folder / "config.pbtxt"
    versions = [child for child in children if child.is_dir() and child.name.isdigit()]
    if config.is_file() or versions:
        if config.is_file():
            name = _configured_name(config.read_text(encoding="utf-8", errors="replace")) or name
        return f"{name}/", f"model folder {name}"
    if [child for child in children if child.is_file() and child.suffix == ".onnx"]:
        if name.isdigit():
            parent = folder.resolve().parent.name or "model"
            return f"{parent}/{name}/", f"version folder of model {parent}"
        return f"{name}/1/", f"files of model {name}, version 1"
    if any(child.is_dir() for child in children):
        return "", f"model repository {name}"
    raise UnusableSource(
        "Nothing in the folder looks like a model",
        f"{folder}: expected <model>/<version>/model.onnx, config.pbtxt and 1/, or an .onnx file",
    )


def _graph_first_named(entries: list[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """A model without config.pbtxt whose only graph has another name gets Triton's default one."""
    graphs = [name for _, name in entries if name.endswith(".onnx")]
    configured = any(name.endswith("config.pbtxt") for _, name in entries)
    if configured or len(graphs) != 1 or graphs[0].endswith("/model.onnx"):
        return entries
    default = f"{graphs[0].rsplit('/', 1)[0]}/model.onnx"
    return [(path, default if name == graphs[0] else name) for path, name in entries]


def _configured_name(text: str) -> str | None:
    """The top-level ``name`` of a config.pbtxt: Triton wants the folder to be called the same."""
    depth = 0
    for line in text.splitlines():
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("#")[0]
        match = re.match(r'\s*name\s*:\s*"([^"/\\]+)"', line)
        if match and depth == 0:
            return match.group(1)
        depth += sum(bare.count(c) for c in "{[") - sum(bare.count(c) for c in "}]")
    return None


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files, and folders that hold nothing, in a fixed order; links are followed, once each."""
    seen: set[str] = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        relative = Path(here).relative_to(folder)
        kept = sorted(name for name in files if name not in SKIPPED)
        for name in kept:
            yield Path(here) / name, (relative / name).as_posix()
        if not folders and not kept and relative != Path():
            yield Path(here), f"{relative.as_posix()}/"  # an ensemble's empty version folder


def _write_zip(target: Path, entries: list[tuple[Path, str]], on_bytes: OnBytes | None) -> None:
    total = sum(path.stat().st_size for path, _ in entries if path.is_file())
    done = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, name in entries:
            info = zipfile.ZipInfo(name, date_time=_EPOCH)
            info.external_attr = 0o644 << 16
            if name.endswith("/"):
                archive.writestr(info, b"")
                continue
            info.file_size = path.stat().st_size
            with path.open("rb") as source, archive.open(info, "w") as sink:
                while piece := source.read(_COPY_BYTES):
                    sink.write(piece)
                    done += len(piece)
                    if on_bytes:
                        on_bytes(done, total)

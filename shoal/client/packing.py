"""From what a person points at (file, folder, archive) to what is uploaded.

A folder becomes a list of its files, each with its place in a Triton model repository.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.client.errors import NothingServable, UnusableSource
from shoal.client.ignoring import Ignored

SKIPPED = {".git", ".DS_Store", "__MACOSX", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Package:
    """What to send: one file (``single``), or ``files``, each with its path in the repository.

    A folder that holds nothing is a path that ends with a slash. ``note`` says what was done.
    """

    filename: str
    single: Path | None = None
    files: tuple[tuple[Path, str], ...] = ()
    note: str = ""


def packaged(source: Path, *, serve_as: str | None = None) -> Package:
    """The package of ``source``, read where it lies.

    ``serve_as`` is what clients shall call the model of a single file; default: the file's name.
    Folders and archives name their models themselves.

    Raises UnusableSource when nothing in it looks like a model.
    """
    if source.is_file():
        beside = _external_data(source)
        if not beside:
            named = serve_as is not None and source.suffix == ".onnx"
            return Package(f"{serve_as}.onnx" if named else source.name, single=source)
        stem = serve_as or source.stem
        # why: the graph names its weights file, but the runtime looks for model.onnx
        files = [(source, f"{stem}/1/model.onnx")]
        files += [(path, f"{stem}/1/{path.name}") for path in beside]
        note = f"{source.name} and its weights {', '.join(path.name for path in beside)}"
        return Package(stem, files=tuple(files), note=note)
    if not source.is_dir():
        raise UnusableSource(
            "No such file or folder", str(source), ["Give an .onnx file, a folder or a .zip."]
        )
    prefix, note = _layout(source)
    entries = _graph_first_named([(path, f"{prefix}{name}") for path, name in walked(source)])
    if not any(path.is_file() for path, _ in entries):
        raise UnusableSource("The folder is empty", str(source))
    return Package(source.resolve().name, files=tuple(entries), note=note)


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
    if (folder / "MLmodel").is_file():
        raise UnusableSource(
            "This is a model of MLflow",
            f"{folder} has an MLmodel file, and nothing that Triton serves",
            ["Register it with `shoal model create`, then deploy that: docs/from-azure-ml.md."],
        )
    raise NothingServable(
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
        bare = re.sub(r'"(\\.|[^"\\])*"?', '""', line).split("#")[0]
        match = re.match(r'\s*name\s*:\s*"([^"/\\]+)"', line)
        if match and depth == 0:
            return match.group(1)
        depth += sum(bare.count(c) for c in "{[") - sum(bare.count(c) for c in "}]")
    return None


def walked(folder: Path, ignored: Ignored | None = None) -> Iterator[tuple[Path, str]]:
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
        if ignored is not None:
            folders[:] = [
                name for name in folders if not ignored((relative / name).as_posix(), True)
            ]
            kept = [name for name in kept if not ignored((relative / name).as_posix(), False)]
        for name in kept:
            yield Path(here) / name, (relative / name).as_posix()
        if not folders and not kept and relative != Path():
            yield Path(here), f"{relative.as_posix()}/"  # an ensemble's empty version folder

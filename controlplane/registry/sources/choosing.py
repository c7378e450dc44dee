"""Which files of a repository, a bucket or a run make the model. Pure, from their paths."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from controlplane.registry.archive import IGNORED
from controlplane.registry.errors import ImportFailed
from controlplane.registry.layout import ARCHIVE_SUFFIXES, CONFIG, MODEL_SUFFIXES, SAVED_MODEL
from controlplane.registry.types import LIMIT_FILES

SHOWN: Final = 12  # paths that a sentence names
_NO_DATA: Final = (*MODEL_SUFFIXES, ".json", ".txt", ".md", ".pbtxt", ".py", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where each file is -> where it goes; ``archive``: the only one is to be unpacked."""

    files: dict[str, str]
    archive: bool = False


def choose(paths: Sequence[str], wanted: str, shown: str) -> Chosen:
    """``wanted`` is a file, a folder, or empty for all; one that ends with a slash is taken whole.

    Raises ImportFailed.
    """
    whole, wanted = wanted.endswith("/"), wanted.strip("/")
    known = set(paths)
    if wanted in known:
        return _one(wanted, known)
    prefix = f"{wanted}/" if wanted else ""
    below = {
        path: path.removeprefix(prefix)
        for path in paths
        if path.startswith(prefix) and not _ignored(path)
    }
    if len(below) > LIMIT_FILES:
        raise ImportFailed(
            f"{shown} has {len(below)} files; {LIMIT_FILES} are taken.", code="ImportTooLarge"
        )
    if not below:
        raise ImportFailed(
            f"There is nothing at {shown}.",
            code="ImportNothingFound",
            detail=_told(paths),
            hints=("Names are spelled as the source shows them, and case counts.",),
        )
    if whole or _is_repository(below.values()):
        return Chosen(below)
    graphs = [path for path in below if path.lower().endswith(".onnx")]
    models = graphs or [path for path in below if _suffix(path) in MODEL_SUFFIXES]
    if len(models) == 1:
        return _one(models[0], known)
    raise ImportFailed(
        f"{shown} has {len(models)} files that are models: say which."
        if models
        else f"{shown} has no model that can be served.",
        code="ImportAmbiguous" if models else "ImportNothingFound",
        detail=_told(models or list(below)),
        hints=(
            "Add the path of the file to the address.",
            "A path that ends with a slash is taken whole, as a model repository.",
        ),
    )


def _one(path: str, known: Collection[str]) -> Chosen:
    if path.lower().endswith(ARCHIVE_SUFFIXES):
        return Chosen({path: PurePosixPath(path).name}, archive=True)
    return Chosen({one: PurePosixPath(one).name for one in (path, *_data_of(path, known))})


def _data_of(path: str, known: Collection[str]) -> list[str]:
    """External data beside a graph of ONNX: `model.onnx_data`, `model.onnx.data`, `model.data`;
    weights beside one of OpenVINO: `model.bin`."""
    if _suffix(path) not in (".onnx", ".xml"):
        return []
    stem = path[: -len(_suffix(path))]
    beside = {f"{stem}.data", f"{stem}.bin", f"{stem}.weights"}
    return sorted(
        one
        for one in known
        if one in beside
        or (
            one.startswith(path)
            and one != path
            and "/" not in one[len(path) :]
            and not one.lower().endswith(_NO_DATA)
        )
    )


def _is_repository(paths: Collection[str]) -> bool:
    """A configuration, a SavedModel, or a version's folder with a model in it."""
    found = [PurePosixPath(path) for path in paths]
    return any(
        path.name in (CONFIG, SAVED_MODEL)
        or (path.parent.name.isdecimal() and _suffix(path.name) in MODEL_SUFFIXES)
        for path in found
    )


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _ignored(path: str) -> bool:
    return path.endswith("/") or bool(IGNORED.intersection(PurePosixPath(path).parts))


def _told(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return f"There are: {', '.join(sorted(paths)[:SHOWN])}{more}." if paths else ""

"""From whatever people upload to a Triton model repository: `<model>/<version>/<file>`.

Every change is said in words. What is not recognised is left for the inspection to explain.
"""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from controlplane.registry.archive import MAX_NAME_BYTES
from controlplane.registry.gathering import free_name, gather, name_taken

CONFIG = "config.pbtxt"
# Files that are a model, whatever they are called: they get the name that Triton looks for.
MODEL_SUFFIXES = {
    ".onnx": "model.onnx",
    ".pt": "model.pt",
    ".pth": "model.pt",
    ".pt2": "model.pt2",
    ".plan": "model.plan",
    ".engine": "model.plan",
    ".xml": "model.xml",
    ".graphdef": "model.graphdef",
    ".ubj": "xgboost.ubj",
}
# Files that are a model only under these names: others like them are notes, labels or modules.
MODEL_NAMES = {"model.py": "model.py", "xgboost.json": "xgboost.json", "model.txt": "model.txt"}
SAVED_MODEL = "saved_model.pb"
SAVED_MODEL_FOLDER = "model.savedmodel"
KEEP = ".keep"  # a file for a folder that must be there although nothing is in it
ENSEMBLE = re.compile(r'^[ \t]*(platform\s*:\s*"ensemble"|ensemble_scheduling\b)', re.MULTILINE)
NAME_IN_CONFIG = re.compile(r'^[ \t]*name\s*:\s*"([^"\\]+)"', re.MULTILINE)
ARCHIVE_SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".tar", ".zip")
MAX_WRAPPERS = 4
LONGEST_CONFIG = 2**20  # as much of one as is looked at for what it is called


def model_name(filename: str) -> str:
    """A name for the model in a file: its stem, in the characters that URLs and folders bear."""
    stem = Path(filename).name
    for suffix in (*ARCHIVE_SUFFIXES, *MODEL_SUFFIXES, ".py", ".json", ".txt"):
        if stem.lower().endswith(suffix):
            stem = stem[: -len(suffix)]
            break
    return re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._-") or "model"


def arrange(root: Path, filename: str) -> list[str]:
    """Turn ``root`` into a repository in place; returns what was done, in sentences.

    Raises IngestFailed where two things would have one name.
    """
    said: list[str] = []
    for _ in range(MAX_WRAPPERS):
        wrapper = _wrapper(root)
        if wrapper is None:
            break
        said += _loose(root)
        _lift(wrapper, root)
        said.append(f"Took the content out of the folder {wrapper.name}/.")
    said += _split(root)
    if _is_model(root):
        name = _name_of(root, filename)
        gather(root / name, {path: path.name for path in root.iterdir()}, shown=name)
        said.append(f"Put the model into a folder: {name}/.")
    for folder in _folders(root):
        if _is_model(folder):
            said += _version(folder)
        said += _ensemble_version(folder)
    said += _loose(root) + _empty_folders(root)
    for folder in _folders(root):
        config = folder / CONFIG
        if config.is_dir():  # no configuration, also none that is proposed, could be written there
            raise name_taken(f"{folder.name}/{CONFIG} has to be a file, but is a folder.", config)
    return said


def _split(root: Path) -> list[str]:
    """Several single files side by side, with nothing that binds them, are models of their own."""
    models = _models(root)
    if len(models) < 2 or _folders(root) or (root / CONFIG).is_file():
        return []
    names = [model_name(path.name) for path in models]
    if len(set(names)) != len(names):
        return []
    for path, name in zip(models, names, strict=True):
        beside = [p for p in _files(root) if p != path and p.stem == path.stem]
        gather(root / name, {item: item.name for item in (path, *beside)}, shown=name)
    return [f"Made a model of each file: {', '.join(names)}."]


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir())


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_file())


def _versions(folder: Path) -> list[Path]:
    return [path for path in _folders(folder) if path.name.isdecimal()]


def _models(folder: Path) -> list[Path]:
    return [path for path in _files(folder) if _model_file(path)]


def _model_file(path: Path) -> str | None:
    """The name that Triton looks for, if this file is a model."""
    name = MODEL_NAMES.get(path.name)
    return name or MODEL_SUFFIXES.get(path.suffix.lower())


def serves_itself(paths: Iterable[str]) -> bool:
    """Whether any of these files is, or says that there is, a model that needs no script."""
    found = [Path(path) for path in paths]
    return any(_model_file(path) or path.name in (CONFIG, SAVED_MODEL) for path in found)


def _is_model(folder: Path) -> bool:
    """A folder with numbered versions, a configuration, or a model lying in it."""
    if _versions(folder) or (folder / CONFIG).is_file() or _models(folder):
        return True
    return (folder / SAVED_MODEL).is_file()


def _wrapper(root: Path) -> Path | None:
    """The one folder around a repository, if there is one: it holds models, but is none itself."""
    folders = _folders(root)
    if _is_model(root) or len(folders) != 1 or _is_model(folders[0]):
        return None
    # why one look ahead: `digits/` around nothing that we know is best left for the inspection
    return folders[0] if _folders(folders[0]) else None


def _lift(wrapper: Path, root: Path) -> None:
    """The content of the wrapper, which is alone in ``root``, in its place."""
    # why a side name: the wrapper may hold a folder called like itself
    aside = wrapper.rename(root / free_name(root, wrapper))
    for path in list(aside.iterdir()):
        path.rename(root / path.name)
    aside.rmdir()


def _text(config: Path) -> str:
    with config.open("rb") as file:
        return file.read(LONGEST_CONFIG).decode(errors="replace")


def _name_of(folder: Path, filename: str) -> str:
    config = folder / CONFIG
    if config.is_file():
        found = NAME_IN_CONFIG.search(_text(config))
        if found and model_name(found[1]) == found[1] and len(found[1]) <= MAX_NAME_BYTES:
            return found[1]
    return model_name(filename)


def _version(folder: Path) -> list[str]:
    """A model lying beside the configuration belongs into version 1, under Triton's name."""
    if _versions(folder):
        return []
    version, shown = folder / "1", f"{folder.name}/1"
    if (folder / SAVED_MODEL).is_file():
        # why all but configuration and labels: the folder is a SavedModel itself
        deeper = [path for path in folder.iterdir() if not _stays_above(path)]
        moved = {path: f"{SAVED_MODEL_FOLDER}/{path.name}" for path in deeper}
        gather(version, moved, shown=shown)
        return [f"Created version 1: {shown}/{SAVED_MODEL_FOLDER}/."]
    models = _models(folder)
    inside = [path for path in _folders(folder) if (path / SAVED_MODEL).is_file()]
    if len(inside) == 1 and not models:
        gather(version, {inside[0]: SAVED_MODEL_FOLDER}, shown=shown)
        return [f"Created version 1: {shown}/{SAVED_MODEL_FOLDER}/ (was {inside[0].name}/)."]
    if len(models) > 1 and any(path.name == "model.py" for path in models):
        models = [path for path in models if path.name == "model.py"]  # it loads the others itself
    if len(models) != 1:
        return []
    model = models[0]
    wanted = _model_file(model) or model.name
    # why the others come along: external weights lie beside the graph that names them
    loose = [path for path in _files(folder) if path == model or not _stays_above(path)]
    gather(version, {path: _renamed(path, model, wanted) for path in loose}, shown=shown)
    return [f"Created version 1: {shown}/{wanted} (was {model.name})."]


def _renamed(path: Path, model: Path, wanted: str) -> str:
    if path == model:
        return wanted
    if model.suffix.lower() == ".xml" and path.name == f"{model.stem}.bin":
        return "model.bin"  # OpenVINO finds weights by the name of the graph
    return path.name


def _stays_above(path: Path) -> bool:
    """Configurations and label files lie beside the version folders, not in them."""
    return path.suffix in {".pbtxt", ".txt", ".md", ".json"}


def _ensemble_version(folder: Path) -> list[str]:
    """An ensemble needs a version, too, which holds nothing."""
    config = folder / CONFIG
    if _versions(folder) or not config.is_file() or not ENSEMBLE.search(_text(config)):
        return []
    shown = f"{folder.name}/1"
    gather(folder / "1", {}, shown=shown)
    return [f"Created version 1, which an ensemble needs as well: {shown}/."]


def _empty_folders(root: Path) -> list[str]:
    """Gone before the inspection looks: it must see what a node will have, and that is files.

    Versions stay, with a file in them.
    """
    empty = []
    for path in sorted(root.rglob("*"), reverse=True):
        if not path.is_dir() or any(path.iterdir()):
            continue
        if path.parent.parent == root and path.name.isdecimal():
            (path / KEEP).touch()
            continue
        path.rmdir()
        empty.append(path.relative_to(root).as_posix())
    if not empty:
        return []
    return [f"Left out empty folders: {', '.join(sorted(empty)[:10])}."]


def _loose(root: Path) -> list[str]:
    """Files beside the models are no part of a repository."""
    loose = _files(root) if _folders(root) else []
    for path in loose:
        path.unlink()
    if not loose:
        return []
    return [f"Left out files beside the models: {', '.join(path.name for path in loose[:10])}."]


def discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)

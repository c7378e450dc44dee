"""From whatever people upload to a Triton model repository: `<model>/<version>/model.onnx`.

Every change is said in words. What is not recognised is left for the inspection to explain.
"""

import re
import shutil
from pathlib import Path

CONFIG = "config.pbtxt"
ONNX = ".onnx"
# Files that are a model, whatever they are called: they get the name that Triton looks for.
MODEL_SUFFIXES = {ONNX: "model.onnx", ".pt": "model.pt", ".plan": "model.plan"}
NAME_IN_CONFIG = re.compile(r'^\s*name\s*:\s*"([^"\\]+)"', re.MULTILINE)
ARCHIVE_SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".tar", ".zip")
MAX_WRAPPERS = 4


def model_name(filename: str) -> str:
    """A name for the model in a file: its stem, in the characters that URLs and folders bear."""
    stem = Path(filename).name
    for suffix in (*ARCHIVE_SUFFIXES, *MODEL_SUFFIXES):
        if stem.lower().endswith(suffix):
            stem = stem[: -len(suffix)]
            break
    return re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._-") or "model"


def arrange(root: Path, filename: str) -> list[str]:
    """Turn ``root`` into a repository in place; returns what was done, in sentences."""
    said: list[str] = []
    for _ in range(MAX_WRAPPERS):
        wrapper = _wrapper(root)
        if wrapper is None:
            break
        _lift(wrapper, root)
        said.append(f"Took the content out of the folder {wrapper.name}/.")
    if _is_model(root):
        name = _name_of(root, filename)
        _sink(root, name)
        said.append(f"Put the model into a folder: {name}/.")
    for folder in _folders(root):
        if _is_model(folder):
            said += _version(folder)
    return said + _strays(root)


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir())


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_file())


def _versions(folder: Path) -> list[Path]:
    return [path for path in _folders(folder) if path.name.isdecimal()]


def _models(folder: Path) -> list[Path]:
    return [path for path in _files(folder) if path.suffix.lower() in MODEL_SUFFIXES]


def _is_model(folder: Path) -> bool:
    """A folder with numbered versions, a configuration, or a model file lying in it."""
    return bool(_versions(folder) or (folder / CONFIG).exists() or _models(folder))


def _wrapper(root: Path) -> Path | None:
    """The one folder around a repository, if there is one: it holds models, but is none itself."""
    folders = _folders(root)
    if _is_model(root) or len(folders) != 1 or _is_model(folders[0]):
        return None
    # why one look ahead: `digits/` around nothing that we know is best left for the inspection
    return folders[0] if _folders(folders[0]) else None


def _lift(wrapper: Path, root: Path) -> None:
    # why a side name: the wrapper may hold a folder called like itself
    aside = wrapper.rename(root / f".{wrapper.name}.lifted")
    for path in list(aside.iterdir()):
        target = root / path.name
        if target.exists():  # a file beside the wrapper; the wrapper's content is what was meant
            target.unlink()
        path.rename(target)
    aside.rmdir()


def _name_of(folder: Path, filename: str) -> str:
    config = folder / CONFIG
    if config.exists():
        found = NAME_IN_CONFIG.search(config.read_text(errors="replace"))
        if found and model_name(found[1]) == found[1]:
            return found[1]
    return model_name(filename)


def _sink(root: Path, name: str) -> None:
    inside = list(root.iterdir())
    folder = root / f".{name}.sunk"
    folder.mkdir()
    for path in inside:
        path.rename(folder / path.name)
    folder.rename(root / name)


def _version(folder: Path) -> list[str]:
    """Model files lying beside the configuration belong into version 1, under Triton's name."""
    if _versions(folder):
        return []
    models = _models(folder)
    if len(models) != 1:
        return []
    version = folder / "1"
    version.mkdir()
    model = models[0]
    wanted = MODEL_SUFFIXES[model.suffix.lower()]
    loose = [path for path in _files(folder) if not _stays_above(path)]
    for path in loose:
        # why the others come along: external weights lie beside the graph that names them
        path.rename(version / (wanted if path == model else path.name))
    return [f"Created version 1: {folder.name}/1/{wanted} (was {model.name})."]


def _stays_above(path: Path) -> bool:
    """Configurations and label files lie beside the version folders, not in them."""
    return path.suffix in {".pbtxt", ".txt", ".md", ".json"}


def _strays(root: Path) -> list[str]:
    """Files beside the models are no part of a repository."""
    strays = _files(root) if _folders(root) else []
    for path in strays:
        path.unlink()
    if not strays:
        return []
    return [f"Left out files beside the models: {', '.join(path.name for path in strays[:10])}."]


def discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)

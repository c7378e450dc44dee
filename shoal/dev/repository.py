"""A Triton repository of links for whatever somebody works on: a file, a model, or several."""

from pathlib import Path

from shoal.client.errors import ShoalError

# Files that are a model by themselves, and the names by which servers look for them.
FILENAMES = {
    ".onnx": "model.onnx",
    ".plan": "model.plan",
    ".pt": "model.pt",
    ".pt2": "model.pt2",
    ".pth": "model.pt",
    ".py": "model.py",
    ".xml": "model.xml",
}
_CONFIG = "config.pbtxt"
_MODELS = "models"  # of a project, as `shoal init` makes it
_BESIDE = {".xml": ".bin"}  # the weights of a graph that come in a file of their own


def repository_of(path: Path, work: Path, name: str = "") -> Path:
    """The folder to serve: ``path`` itself where it is a repository, else one of links in ``work``.

    ``name`` is the model's where ``path`` is one file or one model, by default the file's or the
    folder's. Raises ShoalError for what is neither.
    """
    path = path.absolute()
    if path.is_file():
        _link_file(path, work / (name or path.stem) / "1")
        return work
    if not path.is_dir():
        raise ShoalError(f"{path} does not exist", hints=["Name a model file or a folder."])
    if _is_model(path):
        (work / (name or path.name)).symlink_to(path)
        return work
    for folder in (path, path / _MODELS):
        if folder.is_dir() and any(_is_model(child) for child in folder.iterdir()):
            if name:
                raise ShoalError(f"--name {name}: {folder} holds models with names of their own")
            return folder
    raise ShoalError(
        f"{path} holds no model",
        f"A model is a folder with {_CONFIG} or with its versions (1, 2, ...); a repository is a "
        "folder of those.",
        ["`shoal init NAME` writes a model to start from."],
    )


def _is_model(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    if (folder / _CONFIG).is_file():
        return True
    return any(child.name.isdecimal() and child.is_dir() for child in folder.iterdir())


def _link_file(path: Path, version: Path) -> None:
    filename = FILENAMES.get(path.suffix.lower())
    if filename is None:
        raise ShoalError(
            f"{path.name} is not a model that can be served alone",
            f"Those are files that end with {', '.join(FILENAMES)}.",
            [f"Put it into a folder NAME/1 and write NAME/{_CONFIG}, then: shoal dev NAME"],
        )
    version.mkdir(parents=True)
    (version / filename).symlink_to(path)
    beside = _BESIDE.get(path.suffix.lower())
    if beside is not None and path.with_suffix(beside).is_file():
        (version / filename).with_suffix(beside).symlink_to(path.with_suffix(beside))

"""Model directories: in repositories laid out as Triton wants them, or made of files of a request.

Nothing is loaded here.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.repository import LoadOverride

CONFIG_NAME = "config.pbtxt"
SIDE_DIRECTORIES = frozenset({"warmup", "initial_state", "configs"})


class ModelDirectory(Struct, frozen=True):
    """One model on disk. ``versions`` ascend; ``config_path`` is None where there is no file.

    A ``renamed`` one is served under ``name``, whatever its folder and its configuration say.
    ``keep`` is whatever must live as long as the directory is used. ``listing`` has the paths of
    its files where they are not on this disk.
    """

    name: str
    path: Path
    versions: tuple[int, ...]
    config_path: Path | None
    warnings: tuple[str, ...] = ()
    keep: object = None
    listing: frozenset[str] | None = None
    renamed: bool = False

    def config_text(self) -> str:
        # why no text file: its lines would end at a lone CR, and comments of the format do not
        return self.config_path.read_bytes().decode() if self.config_path else ""

    def version_path(self, version: int) -> Path:
        return self.path / str(version)

    def holds(self, version: int, name: str) -> bool:
        """The version has a file or a folder of that name."""
        if self.listing is None:
            return (self.version_path(version) / name).exists()
        here = f"{version}/{name}"
        return any(path == here or path.startswith(f"{here}/") for path in self.listing)

    def files(self) -> list[str]:
        """Every file below the model, as sorted relative POSIX paths."""
        found = (item for item in self.path.rglob("*") if item.is_file())
        return sorted(item.relative_to(self.path).as_posix() for item in found)


def scan(repository: Path, config_name: str = "") -> list[ModelDirectory]:
    """The models below ``repository``, sorted by name. Raises OSError when it cannot be read."""
    return [read_model(repository / name, config_name) for name in model_names(repository)]


def model_names(repository: Path) -> list[str]:
    """The names of the model directories, sorted. Raises OSError when it cannot be read."""
    return sorted(
        item.name for item in repository.iterdir() if item.is_dir() and item.name[0] != "."
    )


def read_model(path: Path, config_name: str = "") -> ModelDirectory:
    """One model directory; ``config_name`` prefers ``configs/<config_name>.pbtxt``."""
    versions, warnings = _versions(item.name for item in sorted(path.iterdir()) if item.is_dir())
    custom = path / "configs" / f"{config_name}.pbtxt"
    config = custom if config_name and custom.is_file() else path / CONFIG_NAME
    return ModelDirectory(
        name=path.name,
        path=path,
        versions=versions,
        config_path=config if config.is_file() else None,
        warnings=warnings,
    )


def listed_model(name: str, files: Iterable[str]) -> ModelDirectory:
    """A model of which only the paths of its files are known, relative to its folder."""
    listing = frozenset(files)
    folders = sorted({path.partition("/")[0] for path in listing if "/" in path})
    versions, warnings = _versions(folders)
    return ModelDirectory(name, Path(name), versions, None, warnings, listing=listing)


def _versions(folders: Iterable[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The version numbers among the names of folders, ascending, and what is odd about others."""
    versions: list[int] = []
    warnings: list[str] = []
    for name in folders:
        if name in SIDE_DIRECTORIES or name.startswith("."):
            continue
        if not name.isascii() or not name.isdigit():
            warnings.append(
                f"ignore version directory '{name}' which fails to convert to integral number"
            )
        elif name != str(int(name)):
            warnings.append(
                f"ignore version directory '{name}' which contains leading zeros in its "
                "directory name"
            )
        else:
            versions.append(int(name))
    return tuple(sorted(versions)), tuple(warnings)


class Localised:
    """A temporary model directory; it goes away with this object, or with the process."""

    def __init__(self) -> None:
        # why resolved: the escape check compares resolved paths, and the place may be a link.
        self.path = Path(tempfile.mkdtemp(prefix="folder")).resolve()
        self._cleanup = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def localise(override: LoadOverride) -> Localised:
    """Write the files of a load request. Raises InvalidArgument, or OSError from writing."""
    if override.config is None:
        raise InvalidArgument("Load parameter 'config' must be specified for model file override")
    place = Localised()
    for name, content in override.files.items():
        path = (place.path / name).resolve()
        if not path.is_relative_to(place.path):
            raise InvalidArgument(
                f"Invalid file parameter 'file:{name}' with normalized path '{path}' must stay "
                "within model directory."
            )
        if path.parent.exists() and not path.parent.is_dir():
            raise InvalidArgument(
                f"Invalid file parameter 'file:{name}', directory has been created as a file"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place

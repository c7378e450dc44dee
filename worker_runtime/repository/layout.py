"""Scan model repositories laid out as Triton wants them; nothing is loaded here."""

from dataclasses import dataclass, field
from pathlib import Path

CONFIG_NAME = "config.pbtxt"
SIDE_DIRECTORIES = frozenset({"warmup", "initial_state", "configs"})


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """One model on disk. ``versions`` ascend; ``config_path`` is None where there is no file.

    ``keep`` is whatever must live as long as the directory is used.
    """

    name: str
    path: Path
    versions: tuple[int, ...]
    config_path: Path | None
    warnings: tuple[str, ...] = field(default=())
    keep: object = field(default=None, compare=False)

    def config_text(self) -> str:
        return self.config_path.read_text(encoding="utf-8") if self.config_path else ""

    def version_path(self, version: int) -> Path:
        return self.path / str(version)

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
    versions: list[int] = []
    warnings: list[str] = []
    for item in sorted(path.iterdir()):
        if not item.is_dir() or item.name in SIDE_DIRECTORIES or item.name.startswith("."):
            continue
        if not item.name.isascii() or not item.name.isdigit():
            warnings.append(
                f"ignore version directory '{item.name}' which fails to convert to integral number"
            )
        elif item.name != str(int(item.name)):
            warnings.append(
                f"ignore version directory '{item.name}' which contains leading zeros in its "
                "directory name"
            )
        else:
            versions.append(int(item.name))
    custom = path / "configs" / f"{config_name}.pbtxt"
    config = custom if config_name and custom.is_file() else path / CONFIG_NAME
    return ModelDirectory(
        name=path.name,
        path=path,
        versions=tuple(sorted(versions)),
        config_path=config if config.is_file() else None,
        warnings=tuple(warnings),
    )

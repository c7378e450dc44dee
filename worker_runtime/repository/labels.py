"""Label files of outputs: one label per line, used by classification."""

from pathlib import Path
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem


def read_labels(config: Any, directory: Path) -> dict[str, tuple[str, ...]]:
    """Labels by output name. Raises ConfigInvalid when a named file cannot be read."""
    labels = {}
    for index, output in enumerate(config.output):
        if not output.label_filename:
            continue
        path = directory / output.label_filename
        try:
            if not path.resolve().is_relative_to(directory.resolve()):
                raise _unreadable(path, index, "it lies outside the model directory")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise _unreadable(path, index, error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise _unreadable(path, index, f"it is not UTF-8: {error}") from error
        lines = text.removesuffix("\n").split("\n")
        labels[output.name] = tuple(line.removesuffix("\r") for line in lines)
    return labels


def _unreadable(path: Path, index: int, why: str) -> ConfigInvalid:
    message = f"failed to open text file for read {path}: {why}"
    problem = Problem("ConfigInvalid", message, field=f"output[{index}].label_filename")
    return ConfigInvalid(message, (problem,))

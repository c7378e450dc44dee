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
                raise OSError("it lies outside the model directory")
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            message = f"label file '{output.label_filename}' of output '{output.name}': {error}"
            field = f"output[{index}].label_filename"
            raise ConfigInvalid(
                message, (Problem("ConfigInvalid", message, field=field),)
            ) from error
        labels[output.name] = tuple(line.strip() for line in lines)
    return labels

"""Label files of outputs: one label per line, used by classification."""

from pathlib import Path
from typing import Any

from worker_runtime.errors import FileUnreadable
from worker_runtime.files.inside import inside


def read_labels(config: Any, directory: Path) -> dict[str, tuple[str, ...]]:
    """Labels by output name. Raises FileUnreadable when a named file cannot be read."""
    labels = {}
    for index, output in enumerate(config.output):
        if not output.label_filename:
            continue
        field = f"output[{index}].label_filename"
        path = inside(directory, output.label_filename, field)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise FileUnreadable(path, error.strerror or str(error), field) from error
        except UnicodeDecodeError as error:
            raise FileUnreadable(path, f"it is not UTF-8: {error}", field) from error
        lines = text.removesuffix("\n").split("\n")
        labels[output.name] = tuple(line.removesuffix("\r") for line in lines)
    return labels

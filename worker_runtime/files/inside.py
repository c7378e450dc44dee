"""Files that a model names: they lie in its folder, wherever their names and links lead."""

import os
import stat
from pathlib import Path, PurePosixPath

from worker_runtime.errors import FileUnreadable

OUTSIDE = "it lies outside the model directory"


def leaves(name: str, base: str = "") -> bool:
    """The name, taken from ``base`` below a folder, leads out of that folder, or is no name."""
    if "\0" in name or PurePosixPath(name).is_absolute():
        return True
    first = os.path.normpath(os.path.join(base, name)).split(os.sep, 1)[0]  # noqa: PTH118
    return first == os.pardir


def inside(
    folder: Path, name: str, field: str, *, base: str = "", directories: bool = False
) -> Path:
    """Where ``name``, taken from ``base`` below ``folder``, lies once links are followed.

    Raises FileUnreadable, with ``field``, for what is outside of ``folder`` or does not exist, and
    for devices and pipes (and directories, unless they are wanted), before any of it is read.
    """
    path = folder / base / name if "\0" not in name else folder / base
    if leaves(name, base):
        raise FileUnreadable(path, OUTSIDE, field)
    try:
        found = path.resolve()
        if not found.is_relative_to(folder.resolve()):
            raise FileUnreadable(path, OUTSIDE, field)
        mode = found.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a ring
        why = getattr(error, "strerror", None) or str(error)
        raise FileUnreadable(path, why, field) from error
    if not (stat.S_ISREG(mode) or (directories and stat.S_ISDIR(mode))):
        raise FileUnreadable(path, "it is no plain file", field)
    return found

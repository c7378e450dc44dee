"""Removes folders in which a stranger has written, whatever is in them."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(folder: Path) -> None:
    """`folder` with all that is below it. Links are removed, never followed; folders that their
    owner closed are opened. Raises OSError, but not where there is nothing.

    Folders are taken out of one another first: a model may nest them deeper than the recursion of
    Python's libraries, and the length of a path, reach.
    """
    try:
        with opened(folder) as top:
            while names := os.listdir(top):  # noqa: PTH208 - a descriptor
                for name in names:
                    _take_apart(name, top)
        folder.rmdir()
    except FileNotFoundError:
        return
    except NotADirectoryError:  # a link among them
        folder.unlink(missing_ok=True)


@contextlib.contextmanager
def opened(folder: str | Path, parent: int | None = None) -> Iterator[int]:
    """A folder's descriptor, also of one that its owner, who must be we or ours, has closed.

    Raises OSError: NotADirectoryError for a link, wherever that leads.
    """
    try:
        found = os.open(folder, os.O_RDONLY | _FOLDER, dir_fd=parent)
    except PermissionError:
        place = os.open(folder, os.O_PATH | _FOLDER, dir_fd=parent)
        try:
            here = f"/proc/self/fd/{place}"  # not by its name, which may be a link by now
            os.chmod(here, 0o700)  # noqa: PTH101 - a descriptor
            found = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        finally:
            os.close(place)
    try:
        yield found
    finally:
        os.close(found)


def _take_apart(name: str, top: int) -> None:
    """Remove what is called so in `top`; folders in it go beside it, for the next round."""
    if _unlinked(name, top):
        return
    with opened(name, top) as folder:
        for inner in os.listdir(folder):  # noqa: PTH208 - a descriptor
            if not _unlinked(inner, folder):
                with opened(inner, folder):  # for who moves it must be able to write in it
                    os.rename(inner, secrets.token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
    os.rmdir(name, dir_fd=top)


def _unlinked(name: str, folder: int) -> bool:
    """Whether it was no folder, and is gone."""
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        return False
    return True

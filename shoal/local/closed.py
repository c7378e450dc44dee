"""Closes a data folder to other users: what an earlier version, or a copy, left open."""

import stat
from pathlib import Path

OTHERS = 0o077
# Many files, below a closed folder: these folders are closed, and not searched.
CLOSED_ONLY = ("blobs", "uploads", "node")


class SharedFolder(OSError):
    """The data folder is everybody's, such as /tmp; the text says what to do."""


def refuse_shared(home: Path) -> None:
    """Raises SharedFolder for a folder that must not be closed."""
    if home.stat().st_mode & stat.S_ISVTX:
        raise SharedFolder(f"all users share it. Set SHOAL_HOME to a folder of its own in {home}.")


def close(home: Path, folders: tuple[str, ...]) -> None:
    """Take all rights of group and others from `home`, `folders` in it, and files with secrets.

    Raises OSError where this user may not change them.
    """
    _close(home)
    _close_files(home)
    for name in folders:
        # why: blobs may be a link to a larger disk
        _close((home / name).resolve())
        if name not in CLOSED_ONLY:
            for path in (home / name).rglob("*"):
                _close(path)
    _close_files(home / "node")


def _close_files(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_file():
            _close(path)


def _close(path: Path) -> None:
    """A link, and what has gone meanwhile, are left alone."""
    try:
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:
        return

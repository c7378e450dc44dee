"""Lays a model repository out from cached blobs: whole under its final name, or not there."""

import contextlib
import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from node_agent import removal
from node_agent.failure import ReplicaFailed
from wire.messages import DesiredReplica, FileRef

logger = logging.getLogger(__name__)
# Other disk, a file system without hard links, or too many of them: a copy serves as well.
NO_LINK = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP}


def stage(replica: DesiredReplica, *, blob: Callable[[str], Path], repository: Path) -> None:
    """Make `repository` exactly the replica's files, links to blobs where possible.

    Whoever gets as far as `repository` may read it, whatever the umask: its replica may run as
    another user. The folders around it are closed to all others.

    Raises ReplicaFailed for a path that leaves the repository, OSError.
    """
    building = repository.with_name(f"{repository.name}.building")
    removal.remove(building)
    building.mkdir(parents=True)
    try:
        for file in replica.files:
            if file.path not in replica.inline_files:
                _link(blob(file.sha256), _inside(building, file.path))
        for path, text in replica.inline_files.items():
            target = _inside(building, path)
            target.write_bytes(text.encode())  # as signed, whatever the locale
            target.chmod(0o644)
        for folder, _, _ in os.walk(building):
            Path(folder).chmod(0o755)
        discard(repository)
        building.rename(repository)
    except BaseException:
        removal.remove(building)
        raise


def detached(
    replica: DesiredReplica, *, blob: Callable[[str], Path], repository: Path
) -> list[tuple[FileRef, Path]]:
    """Files of a laid out repository that are not links to their blobs, with where they lie.

    Copies, where links cannot be; else something happened to the blob since.
    """
    return [
        (file, target)
        for file in replica.files
        if file.path not in replica.inline_files
        and not _same(blob(file.sha256), target := _place(repository, file.path))
    ]


def renew(target: Path, source: Path) -> None:
    """Put the blob `source` in the place of `target` at once; who has it open keeps the old bytes.

    Does nothing where the folder is gone.
    """
    fresh = target.with_name(f"{target.name}.renewed")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink(missing_ok=True)
        _link(source, fresh)
        fresh.replace(target)


def discard(folder: Path) -> None:
    """Remove `folder`; it is gone under its name at once."""
    if not folder.exists():
        return
    doomed = folder.with_name(f"{folder.name}.doomed")
    try:
        removal.remove(doomed)
        folder.rename(doomed)
        removal.remove(doomed)
    except OSError as error:
        logger.warning("%s is not removed yet: %s", folder, error)


def _inside(root: Path, path: str) -> Path:
    """The target of `path` below `root`, its folder made."""
    target = _place(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _place(root: Path, path: str) -> Path:
    """Raises ReplicaFailed for a path that leaves `root`, or is another one's second name: what is
    written there would go through the link of the first."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise ReplicaFailed("UnsafePath", f"The file name {path!r} would leave the repository.")
    if path != "/".join(parts):
        raise ReplicaFailed(
            "UnsafePath", f"The file name {path!r} is a second name of {'/'.join(parts)!r}."
        )
    return root.joinpath(*parts)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except FileNotFoundError:
        return False


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINK:
            raise
        shutil.copy(source, target)  # with its mode

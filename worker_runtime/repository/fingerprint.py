"""What a model directory looked like: enough to tell whether, and where, it has changed."""

import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

# Written by Python models while they are loaded: no change that anyone made.
_IGNORED = frozenset({"__pycache__"})
_STAMPS = count(1)


class Fingerprint(Struct, frozen=True):
    """``entries``: (modification time in ns, bytes) by path below the model; folders are (0, -1).

    ``config`` is the first part of the configuration's path. ``stamp`` is set while the
    configuration in force is not the one on disk: two stamped fingerprints are never the same.
    """

    entries: Mapping[str, tuple[int, int]]
    config: str = ""
    stamp: int = 0

    def overridden(self) -> "Fingerprint":
        """Of the same files, under a configuration that came with a request."""
        return replace(self, stamp=next(_STAMPS))

    def version_changed(self, other: "Fingerprint", version: int) -> bool:
        """A file of that version, or one that all versions share, is another one than before."""
        return self._of_version(version) != other._of_version(version)

    def _of_version(self, version: int) -> dict[str, tuple[int, int]]:
        """The entries that matter to one version; the configuration is compared by its meaning."""
        parts: dict[str, tuple[int, int]] = {}
        for path, seen in self.entries.items():
            first = path.partition("/")[0]
            if first != self.config and (not first.isdigit() or first == str(version)):
                parts[path] = seen
        return parts


def fingerprint(model: Path, config: Path | None) -> Fingerprint:
    """Look at every file below ``model``; what vanishes meanwhile is left out."""
    first = config.relative_to(model).parts[0] if config is not None else ""
    return Fingerprint(dict(_entries(model)), first)


def _entries(model: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    seen: set[tuple[int, int]] = set()  # why: a link may lead back to a folder above it
    for folder, folders, files in os.walk(model, followlinks=True):
        here = Path(folder)
        try:
            status = here.stat()
        except OSError:
            folders.clear()
            continue
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        below = here.relative_to(model)
        for name in folders:
            yield (below / name).as_posix(), (0, -1)
        for name in files:
            try:
                status = (here / name).stat()
            except OSError:
                continue
            yield (below / name).as_posix(), (status.st_mtime_ns, status.st_size)

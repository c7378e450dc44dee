"""Who may read the installation's files."""

import stat
from collections.abc import Iterator
from pathlib import Path

from tests.security.ground import Ground
from tests.security.tries import Try, held

PART = "modes"


def tries(ground: Ground) -> Iterator[Try]:
    home = ground.product.home
    yield held(PART, "the home is 0700, though it was made 0755", _open([home]))
    private = ("secrets", "db", "tls", "logs", "redis", "uploads", "blobs", "gateway", "beat")
    for name in private:
        yield held(PART, f"{name}/ and all below", _open(_below(home / name)))
    files = [item for item in home.iterdir() if item.is_file()]
    yield held(PART, "files of the home itself", _open(files))
    credentials = [item for item in _below(home / "node") if "credential" in item.name]
    assert credentials, "the node keeps no credential?"
    yield held(PART, "the node's credential", _open(credentials))


def _below(folder: Path) -> list[Path]:
    return [folder, *folder.rglob("*")]


def _open(paths: list[Path]) -> Iterator[str]:
    """Those that others than the owner may read, write or enter."""
    for path in paths:
        if path.is_symlink() or not path.exists():
            continue
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077:
            yield f"{path} is {mode:04o}"

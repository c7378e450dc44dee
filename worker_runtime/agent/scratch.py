"""What a replica may write: a home and a temporary folder of its own, below its folder."""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 512  # the unit of st_blocks


@dataclass(frozen=True, slots=True)
class Scratch:
    """`path` itself is the agent's: who may write in the two must not be able to replace them."""

    path: Path

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    def make(self, user: int) -> None:
        """Both folders, for `user` (0: for us); the home is kept, the other one is empty.

        Raises OSError.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o711)
        shutil.rmtree(self.temporary, ignore_errors=True)
        for folder in (self.home, self.temporary):
            if folder.is_symlink():
                folder.unlink()  # where it leads is no business of ours, nor of the replica
            folder.mkdir(exist_ok=True, mode=0o700)
            if user:
                os.chown(folder, user, user, follow_symlinks=False)

    def owner(self) -> int:
        """The user that it was made for; 0 where it was not made."""
        try:
            return self.home.lstat().st_uid
        except FileNotFoundError:
            return 0

    def used_bytes(self) -> int:
        """On disk, by all that has a name in it. Reads every folder of it: blocks."""
        total, folders = 0, [self.path]
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(Path(entry.path))
            except (FileNotFoundError, PermissionError):
                continue  # removed meanwhile, or closed to us by its owner
        return total

    def clear(self) -> None:
        """Remove all that was written."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.temporary, ignore_errors=True)


def own_user(scratch: Scratch, users: range) -> int:
    """The user of this replica: the one that it had, or one that no other replica here has.

    Which are taken is told by who owns their folders. By chance, so that nobody soon gets a number
    that another had, and may have left something under.
    """
    if (had := scratch.owner()) in users:
        return had
    replicas = scratch.path.parents[1]
    taken = {Scratch(folder / scratch.path.name).owner() for folder in replicas.iterdir()}
    return random.SystemRandom().choice([user for user in users if user not in taken])

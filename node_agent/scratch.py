"""What a replica may write: a home and a temporary folder of its own, below its folder."""

import contextlib
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from node_agent import removal

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - regions of clients, semaphores of Python
# Becomes that user only when it runs: who may not enter our folders could not start it.
BECOME_AND_END = (
    "import os, sys; user = int(sys.argv[1]); os.setgroups([]); os.setresgid(user, user, user); "
    "os.setresuid(user, user, user); os.kill(-1, 9)"
)
BLOCK_BYTES = 512  # the unit of st_blocks
LEAST_BYTES = 1024  # that any file counts as: a file system has only so many
DEEPEST = 100  # folders in one another


class Uncountable(RuntimeError):
    """The text says what its owner did."""


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
        had = self.owner()
        self.end_processes()  # of a life before, who may still write where we remove
        removal.remove(self.temporary)
        for folder in (self.home, self.temporary):
            if folder.is_symlink():
                folder.unlink()  # where it leads is no business of ours, nor of the replica
            folder.mkdir(exist_ok=True, mode=0o700)
            if user:
                os.chown(folder, user, user, follow_symlinks=False)
        if user not in (had, 0, os.geteuid()):
            # nobody runs as a user that `own_user` has just chosen
            _remove_shared(user)

    def end_processes(self) -> None:
        """End what runs as a user of its own, and remove what that has left in shared memory, which
        is memory of the machine. Blocks for some ten milliseconds.

        Of one that is ours, too, nobody can tell whose it is.
        """
        user = self.owner()
        if user in (0, os.geteuid()):
            return
        # why as that user: the kernel then ends all of them in one step, however fast they fork
        command = [sys.executable, "-I", "-S", "-c", BECOME_AND_END, str(user)]
        subprocess.run(command, env={}, stderr=subprocess.DEVNULL, check=False)
        _remove_shared(user)

    def owner(self) -> int:
        """The user that it was made for; 0 where it was not made."""
        try:
            return self.home.lstat().st_uid
        except FileNotFoundError:
            return 0

    def used_bytes(self) -> int:
        """On disk, by all that has a name in it. Reads every folder of it: blocks.

        Raises Uncountable for what its owner made so that nobody counts it.
        """
        try:
            with removal.opened(self.path) as folder:
                return _bytes_in(folder, DEEPEST)
        except FileNotFoundError:  # it was started without a sandbox
            return 0

    def clear(self) -> None:
        """Remove all that was written. Raises OSError."""
        removal.remove(self.home)
        removal.remove(self.temporary)


def _bytes_in(folder: int, levels: int) -> int:
    if not levels:
        raise Uncountable(f"its own folders are nested more than {DEEPEST} deep")
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                on_disk = entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                total += max(LEAST_BYTES, on_disk)
                if entry.is_dir(follow_symlinks=False):
                    with removal.opened(entry.name, folder) as inner:
                        total += _bytes_in(inner, levels - 1)
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed, or replaced, meanwhile
            except PermissionError as error:
                raise Uncountable("it closes its own folders to us again and again") from error
    return total


def _remove_shared(user: int) -> None:
    """What that user has left in shared memory, also under a number that another had before."""
    if SHARED_MEMORY.is_dir():
        for file in SHARED_MEMORY.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if file.lstat().st_uid == user:
                    file.unlink()


def own_user(scratch: Scratch, users: range) -> int:
    """The user of this replica: the one that it had, or one that no other replica here has.

    Which are taken is told by who owns their folders, and by what runs: another agent of this
    machine may have given a number out, and whoever starts under it would end the other's
    processes. By chance, so that nobody soon gets a number that another had, and may have left
    something under.
    """
    if (had := scratch.owner()) in users:
        return had
    replicas = scratch.path.parents[1]
    taken = {Scratch(folder / scratch.path.name).owner() for folder in replicas.iterdir()}
    taken |= running_users()
    return random.SystemRandom().choice([user for user in users if user not in taken])


def running_users() -> set[int]:
    """Whose processes there are on this machine."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
                found.add(folder.lstat().st_uid)
    return found

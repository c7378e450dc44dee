"""Environments of Python models: what a requirements.txt lists is installed once on this node.

pip runs code of packages, so it runs in the sandbox of the replica that comes first, before its
model does. What it made is ours afterwards, and replicas read it.
"""

import asyncio
import dataclasses
import hashlib
import os
import re
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from node_agent import process, removal
from node_agent.failure import ReplicaFailed
from node_agent.journal import ReplicaFolder
from node_agent.sandbox import OFF, Sandbox
from node_agent.scratch import Scratch
from wire.messages import DesiredReplica

BUILD: Final = (sys.executable, "-P", "-m", "worker_runtime.backends.python.environment")
PACKAGES: Final = "packages"  # the kind of code
UNUSED_S: Final = 7 * 86400.0
REASON_BYTES: Final = 4000
LOOK_S: Final = 1.0  # at what the installer said last
LINE_CHARACTERS: Final = 200
LISTS: Final = ("*/requirements.txt", "*/*/requirements.txt")
# What says the same for every model: no files beside it, no variables of a deployment.
_PLAIN = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\[\]@/$]*\])?[^@/$\\]*"
    r"|--(extra-)?index-url[= ]\s*https?://[^$\s]+"
)
_SETTINGS = ("PIP_", "UV_")


@dataclass(frozen=True)
class Environments:
    """``folder`` has one for each list of packages, each with what the runtime made in it."""

    folder: Path
    sandbox: Sandbox
    build: tuple[str, ...] = BUILD
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def provide(
        self, replica: DesiredReplica, folder: ReplicaFolder, told: Callable[[str], None]
    ) -> tuple[Path, ...]:
        """Folders with the environments of this replica's models, to be read; built where they are
        not there yet. What only concerns this replica it installs itself.

        ``told`` gets a line about it whenever there is news. Raises ReplicaFailed in pip's words,
        OSError.
        """
        if self.sandbox.settings.mode == OFF or PACKAGES not in (replica.code or ()):
            return ()
        if any(name.startswith(_SETTINGS) for name in replica.environment):
            return ()  # from where its packages come is this deployment's own matter
        found = []
        for requirements in await asyncio.to_thread(_lists, folder.repository):
            name = _name(requirements.read_bytes())
            lock = self._locks.setdefault(name, asyncio.Lock())
            try:
                async with asyncio.timeout(replica.load_timeout_s):
                    if lock.locked():
                        told("another replica of this node installs the same")
                    async with lock:
                        if not self._built(name).exists():
                            await self._make(name, requirements, replica, folder, told)
            except TimeoutError as error:
                raise _late(requirements.name, replica.load_timeout_s) from error
            os.utime(self._built(name))
            found.append(self.folder / name / "made")
        return tuple(found)

    def _built(self, name: str) -> Path:
        """A file of ours, beside what pip may write."""
        return self.folder / name / "built"

    async def _make(
        self,
        name: str,
        requirements: Path,
        replica: DesiredReplica,
        folder: ReplicaFolder,
        told: Callable[[str], None],
    ) -> None:
        shown = requirements.relative_to(folder.repository)
        told(str(shown))
        folder.note(f"installing {shown} for all replicas of this node")
        await asyncio.to_thread(self._sweep, folder.path.parent)
        made = self.folder / name / "made"
        await asyncio.to_thread(_emptied, made)
        # why: in a life before, its model may have left settings for pip in its home
        await asyncio.to_thread(Scratch(folder.scratch).clear)
        began = time.monotonic()
        before = folder.runtime_log.stat().st_size if folder.runtime_log.exists() else 0
        command = [*self.build, str(requirements), str(made)]
        # why without variables: what is made is for deployments that have others, too
        nobody = dataclasses.replace(replica, environment={})
        wanted = self.sandbox.launch(command, nobody, folder, write=made)
        running = process.spawn(
            wanted.argv,
            folder=folder.path,
            log=folder.runtime_log,
            environment=wanted.environment,
            given=wanted.given,
        )
        following = asyncio.create_task(_follow(folder.runtime_log, before, told))
        try:
            status = await process.exited(running)
        finally:
            following.cancel()
            await process.end(running, grace_s=0.0)
            self.sandbox.ended(replica.replica_id, folder)
        if status != 0:
            await asyncio.to_thread(removal.remove, self.folder / name)
            raise _failed(str(shown), folder.runtime_log, before)
        await asyncio.to_thread(_taken_over, made)
        self._built(name).touch()
        folder.note(f"installed {shown} after {time.monotonic() - began:.1f} s")

    def _sweep(self, replicas: Path) -> None:
        """Remove what no replica of this node names, and nobody has asked for in a while."""
        if not self.folder.exists():
            return
        lists = [path for one in replicas.iterdir() for path in _lists(one / "repository")]
        named = {_name(path.read_bytes()) for path in lists}
        for old in self.folder.iterdir():
            built = self._built(old.name)
            age = time.time() - built.stat().st_mtime if built.exists() else 0.0
            if old.name not in named and age > UNUSED_S:
                removal.remove(old)


def _lists(repository: Path) -> list[Path]:
    """Of all models, those whose meaning lies in their text alone."""
    found = {path for pattern in LISTS for path in repository.glob(pattern) if path.is_file()}
    return [path for path in sorted(found) if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeError:
        return False
    told = [line.partition(" #")[0].strip() for line in lines]
    return all(_PLAIN.fullmatch(line) for line in told if line and not line.startswith("#"))


def _name(requirements: bytes) -> str:
    """By content, and by all of which the runtime makes another environment."""
    parts = (sys.version, version("numpy"), version("shoal"), sys.prefix)
    told = "\0".join(parts).encode() + b"\0" + requirements
    return hashlib.sha256(told).hexdigest()[:32]


def _emptied(folder: Path) -> None:
    removal.remove(folder)
    folder.mkdir(parents=True)
    for one in (folder, folder.parent, folder.parent.parent):
        one.chmod(0o755)


def _taken_over(folder: Path) -> None:
    """Ours, and nobody's to write: whoever built it is another user where there are such."""
    for _, folders, files, here in os.fwalk(folder):
        for name in (*folders, *files):
            found = os.lstat(name, dir_fd=here)
            os.chown(name, os.geteuid(), os.getegid(), dir_fd=here, follow_symlinks=False)
            if not stat.S_ISLNK(found.st_mode):
                executable = name in folders or found.st_mode & 0o100
                os.chmod(name, 0o755 if executable else 0o644, dir_fd=here)
    os.chown(folder, os.geteuid(), os.getegid())
    folder.chmod(0o755)


async def _follow(log: Path, before: int, told: Callable[[str], None]) -> None:
    """Tell of the last line of what ``log`` got after ``before`` bytes, until it is cancelled."""
    seen = ""
    while True:
        await asyncio.sleep(LOOK_S)
        lines = (await asyncio.to_thread(_said, log, before)).splitlines()
        if lines and lines[-1] != seen:
            seen = lines[-1]
            told(seen.strip()[:LINE_CHARACTERS])


def _late(shown: str, timeout_s: float) -> ReplicaFailed:
    return ReplicaFailed(
        "LoadTimeout",
        f"The packages of {shown} were not installed after {timeout_s:.0f} s.",
        hints=("Raise the load timeout, or look at the log for what takes so long.",),
    )


def _said(log: Path, before: int) -> str:
    """The end of what the log got after ``before`` bytes."""
    with log.open("rb") as file:
        file.seek(max(before, log.stat().st_size - REASON_BYTES))
        return file.read().decode("utf-8", "replace").strip()


def _failed(shown: str, log: Path, before: int) -> ReplicaFailed:
    lines = _said(log, before).splitlines()
    first = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return ReplicaFailed(
        "ModelLoadFailed",
        f"The packages of {shown} cannot be installed: {first}",
        hints=("Correct the list of packages, then deploy the new version.",),
    )

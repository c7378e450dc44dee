"""Runtimes of this folder that no journal knows any more: it was damaged, or deleted."""

import asyncio
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from node_agent import process
from node_agent.launch import REPOSITORY_FLAG
from node_agent.process import ProcessIdentity

logger = logging.getLogger(__name__)

GRACE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Orphan:
    """A runtime, and the replica that it was started for."""

    replica_id: str
    process: ProcessIdentity


def find(folder: Path) -> list[Orphan]:
    """All runtimes that were started for replicas in `folder`, also those that are known."""
    found = []
    for running in psutil.process_iter(["cmdline", "status"]):
        replica_id = _replica_of(folder, running.info["cmdline"] or ())
        if not replica_id:
            continue
        if running.info["status"] == psutil.STATUS_ZOMBIE or not _leads(running.pid):
            continue
        try:
            found.append(Orphan(replica_id, process.identify(running.pid)))
        except ProcessLookupError:  # ended while we looked
            continue
    return found


async def end(found: Iterable[Orphan]) -> None:
    """Their replicas start anew, if they are wanted: two of one would take the memory of both."""
    found = list(found)
    for orphan in found:
        logger.warning(
            "Process %d runs replica %s, and no journal knows it; ending it",
            orphan.process.pid,
            orphan.replica_id,
        )
    await asyncio.gather(*(process.end(orphan.process, grace_s=GRACE_S) for orphan in found))


def _replica_of(folder: Path, command: Iterable[str]) -> str:
    """The replica whose repository this command serves; empty for none of ours."""
    for argument in command:
        repository = Path(argument.removeprefix(REPOSITORY_FLAG))
        if argument.startswith(REPOSITORY_FLAG) and repository.parent.parent == folder:
            return repository.parent.name
    return ""


def _leads(pid: int) -> bool:
    """Whether it leads a session, as runtimes do; what they fork has their command line, too."""
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False

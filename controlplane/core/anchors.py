"""Anchors: where the chain over the event log ended, kept outside the database.

Who rewrites the database, with older rows or none, does not rewrite these: a file that is only
appended to, the log of the process, and a webhook if one is set.
"""

import fcntl
import json
import logging
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from controlplane.core import jobs, seals

logger = logging.getLogger(__name__)

PRIVATE: Final = 0o600
WEBHOOK_TIMEOUT_S: Final = 5.0
# linux/fs.h: how chattr reads and writes the flags of a file, and the one for appending only
GET_FLAGS, SET_FLAGS, APPEND_ONLY = 0x80086601, 0x40086602, 0x20


@dataclass(frozen=True, slots=True)
class Anchor:
    link: int
    digest: str
    at: str  # ISO 8601, UTC
    restored: str = ""  # why an older log was put back
    kept: int = 0  # then: the last link of before that it knows


@dataclass(frozen=True, slots=True)
class Anchors:
    """Those that count: one that notes a restore takes back those that the restored log lacks."""

    by_link: dict[int, Anchor]
    restores: int
    forged_line: int | None  # number of the first line that is well-formed and not ours

    @property
    def last(self) -> Anchor | None:
        return self.by_link[max(self.by_link)] if self.by_link else None


def append(link: int, digest: str, restored: str = "", kept: int = 0) -> bool:
    """Note where the chain ends, everywhere. False when the file could not be written."""
    parts: dict[str, Any] = {"at": timezone.now().isoformat(), "link": link, "digest": digest}
    if restored:
        parts |= {"restored": restored, "kept": kept}
    line = json.dumps(parts | {"mac": seals.keyed(seals.ANCHOR, parts)}, sort_keys=True)
    logger.info("audit anchor %s", line)
    if settings.SHOAL_AUDIT_WEBHOOK:
        jobs.enqueue_on_commit("core.send_anchor", line=line)
    try:
        _write(settings.SHOAL_AUDIT_ANCHORS, line)
    except OSError as error:
        logger.error("No anchor of the event log was written: %s", error)
        return False
    return True


def _write(path: Path, line: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        file.write(b"\n" * torn + line.encode() + b"\n")
        os.fsync(file.fileno())
        # why not in the data folder: "stop, delete the folder" would not work there any more
        if size == 0 and not path.is_relative_to(settings.SHOAL_HOME):
            _append_only(file.fileno(), path)


def _append_only(descriptor: int, path: Path) -> None:
    """As `chattr +a`; most processes may not, and some file systems cannot."""
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(descriptor, GET_FLAGS, bytes(8)))
        fcntl.ioctl(descriptor, SET_FLAGS, struct.pack("l", flags | APPEND_ONLY))
    except OSError as error:
        logger.info("%s is not append-only for all: %s", path, error)


def read(path: Path) -> Anchors:
    """What the file says; one that does not exist says nothing. Raises OSError."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return _counted(lines)
    except FileNotFoundError:
        return Anchors({}, 0, None)


def _counted(lines: Iterable[str]) -> Anchors:
    found: dict[int, Anchor] = {}
    restores, forged = 0, None
    for number, line in enumerate(lines, 1):
        try:
            parts = json.loads(line)
            mac = parts.pop("mac")
            anchor = Anchor(**parts)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            continue  # an empty line, or one that a crash tore
        if not seals.same(str(mac), seals.keyed(seals.ANCHOR, parts)):
            forged = forged or number
            continue
        if anchor.restored:
            restores += 1
            found = {link: one for link, one in found.items() if link <= anchor.kept}
            found[anchor.link] = anchor
        # why the first: who put an older log back anchors the same links again
        found.setdefault(anchor.link, anchor)
    return Anchors(found, restores, forged)


def send(line: str) -> None:
    """To the webhook. One that does not take it is told of the next."""
    import httpx  # noqa: PLC0415 - half a second of imports, for who has set a webhook

    try:
        answer = httpx.post(
            settings.SHOAL_AUDIT_WEBHOOK,
            content=line,
            headers={"Content-Type": "application/json"},
            timeout=WEBHOOK_TIMEOUT_S,
        )
    except httpx.HTTPError as error:
        said = str(error) or type(error).__name__
    else:
        said = "" if answer.is_success else f"it answered {answer.status_code}"
    # why not its address: who knows it may post there
    if said:
        logger.warning("An anchor of the event log was not taken by the webhook: %s", said)

"""The client of the unpacking program: one limited run per archive."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from controlplane.registry.errors import IngestFailed
from controlplane.registry.programs import Limits, TimedOut, run_limited
from controlplane.registry.stores.disk import room_bytes

TIMEOUT_S = 1800
ADDRESS_BYTES = 4 * 2**30
MAX_ENTRIES = 20_000
MAX_RATIO = 200


def unpack(archive: Path, folder: Path, *, tick: Callable[[], None]) -> list[str]:
    """Fill ``folder``; returns warnings. Raises IngestFailed saying what is wrong."""
    room = room_bytes(folder)
    command = [
        sys.executable, "-m", "controlplane.registry.archive", str(archive), str(folder),
        "--max-bytes", str(settings.SHOAL_MAX_UNPACKED_BYTES), "--room", str(room),
        "--max-entries", str(MAX_ENTRIES),
        "--max-ratio", str(MAX_RATIO),
    ]  # fmt: skip
    limits = Limits(
        cpu_s=TIMEOUT_S,
        file_bytes=min(settings.SHOAL_MAX_UNPACKED_BYTES, room),
        address_bytes=ADDRESS_BYTES,
    )
    try:
        done = run_limited(command, timeout_s=TIMEOUT_S, limits=limits, tick=tick)
    except TimedOut as late:
        raise IngestFailed(
            f"Unpacking took longer than {TIMEOUT_S} s.",
            code="UnpackTimeout",
            hints=("Send a folder instead: its files are not packed.",),
        ) from late
    if done.returncode != 0:
        raise IngestFailed(
            "The archive could not be unpacked.",
            code="ArchiveDamaged",
            detail=done.stderr_tail or f"The program ended with {done.returncode}.",
            hints=("Pack it again as a plain .zip or .tar.gz.",),
        )
    answer = json.loads(done.stdout)
    if error := answer.get("error"):
        raise IngestFailed(
            error["message"],
            code=error["code"],
            detail=error["detail"],
            hints=tuple(error["hints"]),
        )
    warnings: list[str] = answer["warnings"]
    return warnings

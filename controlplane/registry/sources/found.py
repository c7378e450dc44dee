"""What a kind of source has found: files with their URLs, and where they come from."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Remote:
    """One file to fetch. ``url`` and ``headers`` may hold secrets."""

    path: str  # where it goes
    url: str
    size: int | None = None
    sha256: str = ""  # as the source says; what comes must have it
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """``archive``: its one file may be an archive, and is looked at as an upload of one file is."""

    filename: str
    files: tuple[Remote, ...]
    archive: bool = False
    lineage: Mapping[str, str] = field(default_factory=dict)

"""Silences, rules and channels of alerts as files say them, in REST's words."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from shoal.client.errors import ShoalError
from shoal.entities.base import Block, Document, Values
from shoal.entities.errors import Fault

UNITS: Final = {"m": 60, "h": 3600, "d": 86_400}


def span(text: str) -> timedelta | None:
    """``2h`` as time; None for what is none."""
    match = re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip())
    return timedelta(seconds=int(match[1]) * UNITS[match[2]]) if match else None


@dataclass(kw_only=True)
class Silence(Document):
    """What is left out matches everything. It ends at ``ends_at``, or ``duration`` after it was
    made: ``30m``, ``2h``, ``3d``."""

    reason: str
    ends_at: str | None = None
    duration: str | None = None
    rule: str | None = None
    subject: str | None = None
    project: str | None = None

    def asked(self, now: datetime | None = None) -> dict[str, str]:
        """As clients take it."""
        ends_at = self.ends_at
        if ends_at is None:
            after = span(self.duration or "") or timedelta()
            ends_at = ((now or datetime.now(UTC)) + after).isoformat()
        names = ("rule", "subject", "project")
        said = {name: getattr(self, name) or "" for name in names}
        return {"reason": self.reason, "ends_at": ends_at, **said}


@dataclass
class AlertThreshold(Block):
    """A threshold of its own for ``project/vision``, ``endpoint/quote`` or ``node/local``; None: it
    has none."""

    about: str
    threshold: float | None = None


@dataclass(kw_only=True)
class AlertRule(Document):
    """A built-in rule as it shall be. What is left out stays, thresholds of their own as well."""

    name: str
    enabled: bool | None = None
    threshold: float | None = None
    for_s: int | None = None
    severity: str | None = None
    clear_s: int | None = None  # of no effect, and must be what it is
    thresholds: list[AlertThreshold] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thresholds is not None:
            found = (AlertThreshold._of(one) for one in self.thresholds)
            self.thresholds = [one for one in found if one is not None]

    def settings(self) -> Values:
        """What it says, as clients take it."""
        names = ("enabled", "threshold", "for_s", "severity")
        said = {name: getattr(self, name) for name in names}
        return {name: value for name, value in said.items() if value is not None}

    def own_thresholds(self, now: Mapping[str, Any]) -> dict[str, float | None]:
        """Those that are not so in the rule as it is now, by whose they are."""
        known = {one["about"]: one["threshold"] for one in now.get("thresholds", ())}
        said = {one.about: one.threshold for one in self.thresholds or ()}
        return {about: value for about, value in said.items() if value != known.get(about)}

    def faults(self, now: Mapping[str, Any]) -> list[Fault]:
        """Why the rule, as it is now, cannot be so."""
        if self.clear_s in (None, now["clear_s"]):
            return []
        told = f"{self.clear_s}, expected {now['clear_s']} for {self.name}: it is built in"
        return [Fault("clear_s", told)]


class ReferenceUnreadable(ShoalError):
    code = "BadArgument"


@dataclass
class Reference(Block):
    """Where something secret is: a variable of the environment, or a file."""

    env: str | None = None
    file: str | None = None

    def read(self, where: str, base: Path) -> str:
        """Raises ReferenceUnreadable, which never has what was read."""
        if self.env is not None:
            if value := os.environ.get(self.env, "").strip():
                return value
            raise ReferenceUnreadable(
                f"{where}.env: {self.env} is not set",
                "expected a variable of the environment that has it",
            )
        try:
            value = (base / str(self.file)).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ReferenceUnreadable(
                f"{where}.file: {self.file} cannot be read", str(why)
            ) from None  # why: errors of decoding have the bytes
        if not value:
            raise ReferenceUnreadable(f"{where}.file: {self.file} is empty", "expected its value")
        return value


@dataclass(kw_only=True)
class Channel(Document):
    """``url`` and ``secret`` say where these are, and are read when it is made or changed."""

    name: str
    kind: str | None = None
    enabled: bool | None = None
    url: Reference | None = None
    secret: Reference | None = None
    recipients: list[str] | None = None
    severities: list[str] | None = None
    projects: list[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.url = Reference._of(self.url)
        self.secret = Reference._of(self.secret)

    def settings(self) -> Values:
        """All but name and kind, as clients take it, with what is secret read. Raises
        ReferenceUnreadable."""
        found: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None or item.name in ("name", "kind"):
                continue
            read = isinstance(value, Reference)
            found[item.name] = value.read(item.name, self.base_path) if read else value
        return found

"""Steps and how far each is: what the ways of showing progress have in common."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shoal.client.types import Operation, Stage, Step, Upload
from shoal.display.units import byte_count, duration

MARKS = {
    "pending": ("·", "dim"),
    "succeeded": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "canceled": ("–", "yellow"),
    "skipped": ("–", "dim"),
}


@dataclass
class Row:
    """One step. ``fraction`` is 0..1, or None where it cannot be known."""

    title: str
    status: str = "pending"
    detail: str = ""
    fraction: float | None = None
    started: float | None = None  # Unix time, seconds
    ended: float | None = None

    def seconds(self) -> float | None:
        if self.started is None:
            return None
        return max((self.ended or time.time()) - self.started, 0.0)


class Rows:
    """A ``shoal.display.watcher.Watcher``: every method may be called as often as there is news."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def note(self, text: str) -> None:
        """A sentence for the person."""
        raise NotImplementedError

    def changed(self, row: Row, *, state: bool) -> None:
        """``state``: its status is another one; else only how far it is."""
        raise NotImplementedError

    def begin(self) -> None:
        """Before the first news."""

    def end(self) -> None:
        """After the last news; what still runs is not known any more."""

    def hashing(self, done: int, total: int) -> None:
        self._bytes("hash", "Hash", done, total)

    def sending(self, done: int, total: int) -> None:
        self._bytes("upload", "Upload", done, total)

    def receiving(self, done: int, total: int) -> None:
        self._bytes("download", "Download", done, total)

    def upload(self, upload: Upload) -> None:
        self._steps([_fetched(step, upload) for step in upload["steps"]])

    def operation(self, operation: Operation) -> None:
        self._steps(operation["stages"])

    @property
    def running(self) -> bool:
        return any(row.status == "running" for row in self.rows.values())

    def _bytes(self, key: str, title: str, done: int, total: int) -> None:
        row, begins = self.rows.get(key), False
        if row is None or (row.status == "succeeded" and done < total):
            row = self.rows[key] = Row(title, "running", started=time.time())
            begins = True
        row.fraction = done / total if total else 1.0
        spent = row.seconds() or 0.0
        speed = f", {byte_count(done / spent)}/s" if spent > 0.5 else ""
        row.detail = f"{byte_count(done)} of {byte_count(total)}{speed}"
        ends = done >= total and row.status == "running"
        if ends:
            row.status, row.ended = "succeeded", time.time()
            row.detail = f"{byte_count(total)}{speed}"
        self.changed(row, state=begins or ends)

    def _steps(self, steps: Sequence[Step | Stage]) -> None:
        for step in steps:
            row = self.rows.setdefault(step["name"], Row(step["title"] or step["name"]))
            before = row.status
            row.status, row.detail = step["status"], step.get("detail") or ""
            progress = step.get("progress")
            row.fraction = float(progress) if isinstance(progress, int | float) else None
            row.started, row.ended = _unix(step.get("started_at")), _unix(step.get("ended_at"))
            self.changed(row, state=row.status != before and row.status != "pending")

    def line(self, row: Row) -> str:
        """The row as one line of text."""
        mark = MARKS.get(row.status, ("…", ""))[0]
        seconds = row.seconds() if row.status in MARKS else None
        spent = f"  {duration(seconds)}" if seconds else ""
        return f"{mark} {row.title}{spent}{f'  {row.detail}' if row.detail else ''}"


def _fetched(step: Step, upload: Upload) -> Step | Stage:
    """With the bytes that have come, while the server fetches them."""
    if step["name"] != "fetch" or step["status"] != "running":
        return step
    here, size = upload["offset"], upload["size"]
    told = f"{byte_count(here)} of {byte_count(size)}"
    return {**step, "detail": told, "progress": here / size if size else None}


def _unix(text: str | None) -> float | None:
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()

"""Live progress on stderr: hashing, upload bytes, then the server's steps as they happen.

On a terminal one line per step is redrawn in place; otherwise a line is printed per change, so that
logs stay readable. Imported on use: it needs rich.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from shoal.cli.units import byte_count, duration
from shoal.client.types import Operation, Stage, Step, Upload

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


class Progress:
    """A context manager; every method may be called as often as there is news."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._spinner = Spinner("dots", style="cyan")

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=10
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for row in self._rows.values():
            if kind is not None and row.status == "running":
                row.status, row.ended = "failed", time.time()
        if self._live:
            self._live.stop()

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def hashing(self, done: int, total: int) -> None:
        self._bytes("hash", "Hash", done, total)

    def sending(self, done: int, total: int) -> None:
        self._bytes("upload", "Upload", done, total)

    def receiving(self, done: int, total: int) -> None:
        self._bytes("download", "Download", done, total)

    def upload(self, upload: Upload) -> None:
        self._steps(upload["steps"])

    def operation(self, operation: Operation) -> None:
        self._steps(operation["stages"])

    def _bytes(self, key: str, title: str, done: int, total: int) -> None:
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = Row(title, "running", started=time.time())
            if self._live is None:
                self.note(f"… {title} {byte_count(total)}")
        row.fraction = done / total if total else 1.0
        spent = row.seconds() or 0.0
        speed = f", {byte_count(done / spent)}/s" if spent > 0.5 else ""
        row.detail = f"{byte_count(done)} of {byte_count(total)}{speed}"
        if done < total:
            row.status, row.ended = "running", None
        elif row.status == "running":
            row.status, row.detail, row.ended = (
                "succeeded",
                f"{byte_count(total)}{speed}",
                time.time(),
            )
            self._print(row)

    def _steps(self, steps: Sequence[Step | Stage]) -> None:
        for step in steps:
            row = self._rows.setdefault(step["name"], Row(step["title"] or step["name"]))
            before = row.status
            row.status, row.detail = step["status"], step.get("detail") or ""
            progress = step.get("progress")
            row.fraction = float(progress) if isinstance(progress, int | float) else None
            row.started, row.ended = _unix(step.get("started_at")), _unix(step.get("ended_at"))
            if row.status != before and row.status != "pending":
                self._print(row)

    def _print(self, row: Row) -> None:
        if self._live is not None:
            return
        mark = MARKS.get(row.status, ("…", ""))[0]
        seconds = row.seconds() if row.status in MARKS else None
        spent = f"  {duration(seconds)}" if seconds else ""
        self.note(f"{mark} {row.title}{spent}{f'  {row.detail}' if row.detail else ''}")

    def _render(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for row in self._rows.values():
            mark, style = MARKS.get(row.status, ("", ""))
            show_bar = row.status == "running" and row.fraction is not None
            seconds = row.seconds()
            table.add_row(
                self._spinner if row.status == "running" else Text(mark, style),
                Text(row.title, "dim" if row.status == "pending" else ""),
                Text(duration(seconds) if seconds else "", "dim", justify="right"),
                ProgressBar(1.0, row.fraction or 0.0, width=24) if show_bar else "",
                Text(row.detail, "red" if row.status == "failed" else "dim"),
            )
        return table


def _unix(text: str | None) -> float | None:
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()

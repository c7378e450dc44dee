"""Live progress on stderr: hashing, upload bytes, then the server's steps as they happen.

On a terminal one line per step is redrawn in place; otherwise a line is printed per change, so that
logs stay readable. Imported on use: it needs rich.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from shoal.display.rows import MARKS, Row, Rows
from shoal.display.units import duration


class Progress(Rows):
    """A context manager around all that is to be shown."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._console = console or Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._spinner = Spinner("dots", style="cyan")

    def begin(self) -> None:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=10
            )
            self._live.start()

    def end(self) -> None:
        if self._live:
            self._live.stop()

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for row in self.rows.values():
            if kind is not None and row.status == "running":
                row.status, row.ended = "failed", time.time()
        self.end()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Nothing is redrawn over a question; what has been shown by then stays above it."""
        self.end()
        yield
        self.rows.clear()
        self.begin()

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def changed(self, row: Row, *, state: bool) -> None:
        if self._live is None and state:
            self.note(self.line(row))

    def _render(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for row in self.rows.values():
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

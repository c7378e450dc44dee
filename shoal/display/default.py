"""Where this program shows progress: a notebook, a terminal, or nowhere."""

import sys
from collections.abc import Callable

from shoal.client.types import Operation, Upload
from shoal.display.notebook import NotebookProgress
from shoal.display.rows import Rows
from shoal.display.watcher import Quiet, Watcher


def default_watcher() -> Watcher:
    """Bars where a person looks on; else ``Quiet``: the log ``shoal`` has the notes."""
    if _in_notebook():
        return Bars(NotebookProgress)
    if sys.stderr is not None and sys.stderr.isatty():
        # why here: rich is slow to import, and few programs have a terminal
        from shoal.display.terminal import Progress  # noqa: PLC0415

        return Bars(Progress)
    return Quiet()


def _in_notebook() -> bool:
    """Whether a kernel runs us: a plain IPython shell is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


class Bars:
    """A new display for each thing that is begun; it ends when nothing in it runs any more.

    For programs, which have no place to say when all is over.
    """

    def __init__(self, make: Callable[[], Rows]) -> None:
        self._make = make
        self._shown: Rows | None = None

    def note(self, text: str) -> None:
        self._update(lambda rows: rows.note(text))

    def hashing(self, done: int, total: int) -> None:
        self._update(lambda rows: rows.hashing(done, total))

    def sending(self, done: int, total: int) -> None:
        self._update(lambda rows: rows.sending(done, total))

    def receiving(self, done: int, total: int) -> None:
        self._update(lambda rows: rows.receiving(done, total))

    def upload(self, upload: Upload) -> None:
        over = upload["state"] in ("ready", "failed")
        self._update(lambda rows: rows.upload(upload), over=over)

    def operation(self, operation: Operation) -> None:
        over = operation["state"] in ("Succeeded", "Failed", "Canceled")
        self._update(lambda rows: rows.operation(operation), over=over)

    def _update(self, change: Callable[[Rows], None], *, over: bool | None = None) -> None:
        rows = self._shown
        if rows is None:
            rows = self._shown = self._make()
            rows.begin()
        change(rows)
        if (not rows.running) if over is None else over:
            rows.end()
            self._shown = None

"""Progress in a notebook: one table below the cell, redrawn in place. Needs IPython alone."""

import time
from html import escape
from importlib import import_module
from typing import Any

from shoal.display.rows import MARKS, Row, Rows
from shoal.display.units import duration

REDRAW_S = 0.2
COLOURS = {"succeeded": "#2f9e44", "failed": "#e03131", "canceled": "#f08c00"}


class NotebookProgress(Rows):
    """``display`` is IPython's, or a test's."""

    def __init__(self, display: Any = None) -> None:
        super().__init__()
        self._display = display or import_module("IPython.display").display
        self._handle: Any = None
        self._notes: list[str] = []
        self._drawn_at = 0.0

    def note(self, text: str) -> None:
        self._notes.append(text)
        self._draw()

    def changed(self, row: Row, *, state: bool) -> None:
        del row  # all are drawn
        if state or time.monotonic() - self._drawn_at > REDRAW_S:
            self._draw()

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        content = _Shown(self.text(), self.html())
        if self._handle is None:
            self._handle = self._display(content, display_id=True)
        else:
            self._handle.update(content)

    def text(self) -> str:
        return "\n".join([*self._notes, *map(self.line, self.rows.values())])

    def html(self) -> str:
        notes = "".join(f"<div>{escape(note)}</div>" for note in self._notes)
        rows = "".join(map(_row, self.rows.values()))
        return f'{notes}<table style="margin:0">{rows}</table>'


class _Shown:
    """What notebooks ask for in the forms that they can show."""

    def __init__(self, text: str, html: str) -> None:
        self._text, self._html = text, html

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def _row(row: Row) -> str:
    mark = MARKS.get(row.status, ("…", ""))[0]
    colour = COLOURS.get(row.status, "inherit")
    seconds = row.seconds()
    bar = ""
    if row.status == "running" and row.fraction is not None:
        bar = f'<progress max="1" value="{row.fraction:.3f}"></progress>'
    cells = (
        f'<span style="color:{colour}">{mark}</span>',
        escape(row.title),
        duration(seconds) if seconds else "",
        bar,
        escape(row.detail),
    )
    return "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"

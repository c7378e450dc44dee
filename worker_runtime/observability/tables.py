"""Tables for the log, drawn as Triton draws them: people and scripts search them."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A box of lines; line breaks inside a cell become spaces."""
    shown = [[" ".join(cell.split("\n")) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in shown
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])

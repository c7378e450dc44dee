"""Results on stdout, as a table for people or as JSON or YAML for programs."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

Columns = Mapping[str, Callable[[Any], object]]

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Form of the result on stdout.",
)


def emit(value: object, output: str, table: Callable[[], None]) -> None:
    """``value`` as JSON or YAML, or whatever ``table`` prints."""
    if output == "json":
        unicode = (sys.stdout.encoding or "").lower().startswith("utf")
        click.echo(json.dumps(value, indent=2, ensure_ascii=not unicode))
    elif output == "yaml":
        import yaml

        click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    else:
        table()


def print_rows(items: Sequence[Any], columns: Columns, empty: str) -> None:
    """One row per item; ``empty`` goes to stderr when there are none."""
    if not items:
        click.echo(empty, err=True)
        return
    rows = [[_text(cell(item)) for cell in columns.values()] for item in items]
    _print_aligned([list(columns), *rows], heading=True)


def print_fields(fields: Mapping[str, object]) -> None:
    """Name and value per line; fields without a value are left out."""
    _print_aligned(
        [[name, _text(value)] for name, value in fields.items() if value not in ("", None)]
    )


def _print_aligned(rows: list[list[str]], *, heading: bool = False) -> None:
    # why: a table library would cut or wrap URLs and keys, which people copy
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[-1] = row[-1]
        if heading and number == 0:
            cells = [click.style(cell, bold=True) for cell in cells]
        elif not heading:
            cells[0] = click.style(cells[0], dim=True)
        click.echo("  ".join(cells))


def _text(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or "–"
    return str(value)

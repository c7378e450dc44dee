"""Results on stdout: a table for people, or JSON, YAML or TSV for programs; queried if asked."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

Columns = Mapping[str, Callable[[Any], object]]
CommandT = TypeVar("CommandT", bound=Callable[..., Any])

FORMS = ("table", "json", "jsonc", "yaml", "yamlc", "tsv", "none")
# Keys of the context's meta: the query of this command, and the form when none is asked for.
QUERY, DEFAULT_FORM = "shoal.query", "shoal.default-form"


def _form(context: click.Context, _: click.Parameter, value: str | None) -> str:
    return value or str(context.meta.get(DEFAULT_FORM, "table"))


def _query(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        context.meta[QUERY] = jmespath.compile(value)
    except JMESPathError as error:
        raise click.BadParameter(f"not a JMESPath expression: {error}") from error


def output_option(command: CommandT) -> CommandT:
    """Adds ``--output`` (the argument ``output``) and ``--query``."""
    with_query = click.option(
        "--query",
        callback=_query,
        expose_value=False,
        metavar="JMESPATH",
        help="Part of the result to print, see jmespath.org.",
    )
    with_form = click.option(
        "-o",
        "--output",
        type=click.Choice(FORMS),
        callback=_form,
        help="Form of the result on stdout.  [default: table]",
    )
    return with_form(with_query(command))


def emit(value: object, output: str, table: Callable[[], None]) -> None:
    """``value``, or what the query takes from it; as a table whatever ``table`` prints."""
    query = click.get_current_context().meta.get(QUERY)
    if query is not None:
        value = queried(query, value)
        table = lambda: _print_any(value)  # noqa: E731 - replaces the argument
    if output == "none" or (query is not None and value is None):
        return
    if output in ("json", "jsonc"):
        _print_json(value, coloured=output == "jsonc" and sys.stdout.isatty())
    elif output in ("yaml", "yamlc"):
        import yaml

        click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    elif output == "tsv":
        click.echo(tsv(value), nl=False)
    else:
        table()


def queried(query: Any, value: object) -> object:
    from jmespath.exceptions import JMESPathError

    try:
        return query.search(value)
    except JMESPathError as error:
        raise click.UsageError(f"--query: {error}") from error


def tsv(value: object) -> str:
    """As az writes it: a line per item of a list, tabs between the values of one item.

    Below that a list is its length and an object nothing; a bare truth value is in small letters.
    """
    rows = value if isinstance(value, list) else [value]
    return "".join(f"{_row(row)}\n" for row in rows)


def _row(row: object) -> str:
    if isinstance(row, Mapping):
        return "\t".join(_cell(value) for value in row.values())
    if isinstance(row, list):
        return "\t".join(_cell(value) for value in row)
    return str(row).lower() if isinstance(row, bool) else _cell(row)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return str(len(value))
    return "" if isinstance(value, Mapping) else str(value)


def _print_json(value: object, *, coloured: bool) -> None:
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=not unicode, default=str)
    if coloured:
        from rich.console import Console

        Console().print_json(text)
    else:
        click.echo(text)


def _print_any(value: object) -> None:
    """What a query found, without columns of its own."""
    if isinstance(value, Mapping):
        print_fields({str(name): _short(item) for name, item in value.items()})
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        names = list(dict.fromkeys(name for item in value for name in item))
        columns = {name: (lambda item, name=name: _short(item.get(name))) for name in names}
        print_rows(value, columns, "")
    elif isinstance(value, list):
        for item in value:
            click.echo(_text([_short(part) for part in item] if isinstance(item, list) else item))
    else:
        click.echo(_text(value))


def _short(value: object) -> object:
    return json.dumps(value) if isinstance(value, Mapping | list) else value


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
    if not rows:
        return
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

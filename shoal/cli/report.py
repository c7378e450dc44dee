"""Shows a failure to a person on stderr: what is wrong, the details, what to try."""

import click

from shoal.cli.hints import as_commands
from shoal.client.errors import OperationFailed, ShoalError


def report(error: ShoalError) -> None:
    code = getattr(error, "code", "")
    field = getattr(error, "field", None)
    heading = click.style("Error", fg="red", bold=True)
    click.echo(f"{heading}: {error.title}{f' [{code}]' if code else ''}", err=True)
    if field:
        click.echo(f"  field: {field}", err=True)
    for line in error.detail.splitlines():
        click.echo(f"  {line}", err=True)
    if error.hints:
        click.echo("What to try:", err=True)
        for hint in as_commands(error.hints):
            click.echo(f"  - {hint}", err=True)
    if isinstance(error, OperationFailed) and error.operation:
        click.echo(f"All stages: shoal operation show {error.operation}", err=True)


def note(text: str) -> None:
    click.echo(text, err=True)

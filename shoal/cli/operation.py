"""``shoal operation``: long-running changes, their stages, and stopping one."""

from typing import Any

import click

from shoal.cli.hints import as_commands
from shoal.cli.options import no_wait_option, skip_golden_option, supersede_option
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.times import Moment
from shoal.display.units import moment

KINDS = ("deploy", "scale", "delete-deployment", "delete-endpoint")
STATES = ("Queued", "Running", "Succeeded", "Failed", "Canceled")


@click.group()
def operation() -> None:
    """List, show, cancel and retry operations."""


@operation.command("list")
@click.option("--endpoint", help="Only those of this endpoint.")
@click.option("--kind", type=click.Choice(KINDS), help="Only those that do this.")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--who", metavar="NAME", help="Only those that this person began.")
@click.option(
    "--since",
    type=Moment(),
    metavar="WHEN",
    help="Only those begun then or later: 24h, 2026-11-22.",
)
@click.option("--until", type=Moment(), metavar="WHEN", help="Only those begun before.")
@output_option
def list_(
    endpoint: str | None,
    kind: str | None,
    state: str | None,
    who: str | None,
    since: str | None,
    until: str | None,
    output: str,
) -> None:
    """List operations, newest first.

    WHEN is how long ago (30m, 24h, 7d), or a date or time in this machine's zone.
    """
    from shoal.client import Client

    filters = {"kind": kind, "state": state, "actor": who, "since": since, "until": until}
    with Client() as client:
        items = client.list_operations(endpoint=endpoint, **filters)
    none = "No such operations" if endpoint or any(filters.values()) else "No operations yet"
    columns = {
        "ID": lambda item: item["id"],
        "KIND": lambda item: item["kind"],
        "SUBJECT": lambda item: _subject(item),
        "STATE": lambda item: item["state"],
        "WHO": lambda item: item.get("created_by") or "–",
        "STARTED": lambda item: moment(item["created_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, none))


@operation.command()
@click.argument("operation_id")
@output_option
def show(operation_id: str, output: str) -> None:
    """Show an operation's stages and, if it failed, why."""
    from shoal.client import Client

    with Client() as client:
        item = client.get_operation(operation_id)
    emit(item, output, lambda: _print(item))


@operation.command()
@click.argument("operation_id")
@output_option
def cancel(operation_id: str, output: str) -> None:
    """Ask a running operation to stop and undo what it began."""
    from shoal.client import Client

    with Client() as client:
        item = client.cancel_operation(operation_id)
    emit(item, output, lambda: _print(item))


@operation.command()
@click.argument("operation_id")
@supersede_option
@skip_golden_option
@no_wait_option
@output_option
def retry(
    operation_id: str, supersede: bool, skip_golden: bool, no_wait: bool, output: str
) -> None:
    """Do again what failed or was cancelled."""
    from shoal.client import Client
    from shoal.display.terminal import Progress

    with Client() as client, Progress() as progress:
        item = client.retry_operation(operation_id, supersede=supersede, skip_golden=skip_golden)
        if not no_wait:
            item = client.wait_operation(item, on_change=progress.operation)
    emit(item, output, lambda: _print(item))


@operation.command()
@click.argument("operation_id")
@click.option("--timeout", type=click.FloatRange(min=1), default=3600, show_default=True)
@output_option
def watch(operation_id: str, timeout: float, output: str) -> None:
    """Follow an operation to its end; exit code 1 if it fails."""
    from shoal.client import Client
    from shoal.display.terminal import Progress

    with Client() as client, Progress() as progress:
        item = client.get_operation(operation_id)
        item = client.wait_operation(item, timeout_s=timeout, on_change=progress.operation)
    emit(item, output, lambda: _print(item))


# the short name that fingers prefer
op = click.Group("op", commands=operation.commands, help=operation.help, hidden=True)


def _subject(item: Any) -> str:
    return "/".join(filter(None, (item["endpoint"], item["deployment"])))


def _print(item: Any) -> None:
    error = item["error"] or {}
    print_fields(
        {
            "Operation": item["id"],
            "Kind": f"{item['kind']} of {_subject(item)}",
            "State": item["state"],
            "Started": f"{moment(item['created_at'])} by {item['created_by']}",
            "Ended": moment(item["finished_at"]) if item["finished_at"] else None,
            "Error": error.get("message"),
            "Detail": error.get("detail"),
            "Try": "; ".join(as_commands(error.get("hints"))),
        }
    )
    click.echo()
    columns = {
        "STAGE": lambda stage: stage["title"] or stage["name"],
        "STATUS": lambda stage: stage["status"],
        "DETAIL": lambda stage: stage["detail"],
    }
    print_rows(item["stages"], columns, "No stages")

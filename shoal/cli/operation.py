"""``shoal operation``: long-running changes, their stages, and stopping one."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment


@click.group()
def operation() -> None:
    """List, show and cancel operations."""


@operation.command("list")
@click.option("--endpoint", help="Only those of this endpoint.")
@output_option
def list_(endpoint: str | None, output: str) -> None:
    """List operations, newest first."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_operations(endpoint=endpoint)
    columns = {
        "ID": lambda item: item["id"],
        "KIND": lambda item: item["kind"],
        "SUBJECT": lambda item: _subject(item),
        "STATE": lambda item: item["state"],
        "STARTED": lambda item: moment(item["created_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No operations yet"))


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
            "Try": "; ".join(error.get("hints") or []),
        }
    )
    click.echo()
    columns = {
        "STAGE": lambda stage: stage["title"] or stage["name"],
        "STATUS": lambda stage: stage["status"],
        "DETAIL": lambda stage: stage["detail"],
    }
    print_rows(item["stages"], columns, "No stages")

"""``shoal node``: the machines that run replicas."""

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.cli.units import duration


@click.group()
def node() -> None:
    """List the nodes."""


@node.command("list")
@output_option
def list_(output: str) -> None:
    """List nodes and how fresh their last report is."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_nodes()
    columns = {
        "NAME": lambda item: item["name"],
        "STATE": lambda item: item["state"] + (", cordoned" if item["cordoned"] else ""),
        "REPLICAS": lambda item: str(len(item["replicas"])),
        "LAST REPORT": lambda item: (
            None if item["age_s"] is None else f"{duration(item['age_s'])} ago"
        ),
    }
    emit(items, output, lambda: print_rows(items, columns, "No node has joined"))

"""``shoal gateway``: what stands before the replicas and takes requests."""

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import moment


@click.group(short_help="List gateways, and remove one that is gone.")
def gateway() -> None:
    """The gateways that take requests: list, remove."""


@gateway.command("list")
@output_option
def list_(output: str) -> None:
    """List gateways and how fresh their last report is."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_gateways()
    columns = {
        "NAME": lambda item: item["name"],
        "STATE": lambda item: item["state"],
        "LAST REPORT": lambda item: moment(item["last_seen_at"]),
        "TROUBLE": lambda item: item["error"] or None,
    }
    emit(items, output, lambda: print_rows(items, columns, "No gateway has reported"))


@gateway.command(short_help="Say that a silent gateway serves no more.")
@click.argument("name")
def remove(name: str) -> None:
    """Say that a silent gateway serves no more: nothing counts as unconfirmed by it then.

    End its Envoy first, which takes the keys that it has for as long as it runs.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.remove_gateway(name)
    note(f"Gateway {name} is removed")

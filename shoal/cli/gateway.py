"""``shoal gateway``: what stands before the replicas and takes requests."""

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import moment


@click.group(short_help="List gateways, remove one that is gone, say whom clients trust.")
def gateway() -> None:
    """The gateways that take requests: list, remove, ca."""


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
        "SIGNED": lambda item: item.get("served_source") or None,
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


@gateway.command(short_help="Print whom clients of endpoints should trust.")
@output_option
def ca(output: str) -> None:
    """Print the certificates (PEM) that clients of endpoints should trust, for all gateways.

    \b
      shoal gateway ca > shoal-ca.pem
    """
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        found = client.get_ca()
    if not found["certificates"]:
        note("None: gateways show certificates that an operator supplied, or none has come yet")
    emit(found, output, lambda: click.echo(found["certificates"], nl=False))

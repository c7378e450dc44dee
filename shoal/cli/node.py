"""``shoal node``: the machines that run replicas."""

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import duration


@click.group(short_help="List, add, drain and cordon nodes.")
def node() -> None:
    """The machines that run replicas: list, add, drain, cordon."""


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


@node.command(short_help="Make a token that lets one machine join.")
@output_option
def join(output: str) -> None:
    """Make a token that lets one machine join, and the command to run there.

    The token works once, within the hour. Needs the role operator.
    """
    from shoal.client import Client

    with Client() as client:
        made = client.create_join_token()
    emit(made, output, lambda: print_fields({"Run there": made["command"]}))


@node.command()
@click.argument("name")
@output_option
def cordon(name: str, output: str) -> None:
    """Put nothing new on a node; what runs there goes on."""
    _set_cordoned(name, output, cordoned=True)


@node.command()
@click.argument("name")
@output_option
def uncordon(name: str, output: str) -> None:
    """Let a node take replicas again."""
    _set_cordoned(name, output, cordoned=False)


@node.command()
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Only say which replica would go where.")
@click.option("--force", is_flag=True, help="Even if something has nowhere to go.")
@click.option("--deadline", type=click.IntRange(1), default=600, show_default=True, help="Seconds.")
@output_option
def drain(name: str, dry_run: bool, force: bool, deadline: int, output: str) -> None:
    """Empty a node: what runs there answers elsewhere before it goes. Cordons it too."""
    from shoal.client import Client

    with Client() as client:
        moves = client.drain_node(name, dry_run=dry_run, force=force, deadline_s=deadline)["moves"]
    columns = {
        "REPLICA": lambda item: f"{item['endpoint']}/{item['deployment']}#{item['ordinal']}",
        "TRAFFIC": lambda item: f"{item['traffic']} %",
        "TO": lambda item: item["to"] or item["why_not"],
    }
    emit(moves, output, lambda: print_rows(moves, columns, f"Nothing runs on {name}."))


def _set_cordoned(name: str, output: str, *, cordoned: bool) -> None:
    from shoal.client import Client

    with Client() as client:
        item = client.set_cordoned(name, cordoned=cordoned)
    state = "cordoned" if item["cordoned"] else "taking replicas"
    emit(item, output, lambda: print_fields({"Node": item["name"], "Is": state}))

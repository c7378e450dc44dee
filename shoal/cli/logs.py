"""``shoal logs``: what the runtime processes of an endpoint said."""

import time
from typing import Any

import click

from shoal.cli.output import emit, output_option

_POLL_S = 1.0


@click.command(short_help="Print what an endpoint's replicas said.")
@click.argument("endpoint")
@click.option("--deployment", "-d", help="Default: the one with the most traffic.")
@click.option("--replica", help="Only this replica.")
@click.option("--tail", "-l", type=click.IntRange(1), default=200, show_default=True, help="Lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on with new lines until Ctrl-C.")
@output_option
def logs(
    endpoint: str,
    deployment: str | None,
    replica: str | None,
    tail: int,
    follow: bool,
    output: str,
) -> None:
    """Print log lines of an endpoint's replicas, oldest first."""
    from shoal.cli.report import note
    from shoal.client import Client

    if follow and output != "table":
        raise click.UsageError("--follow prints lines; it does not go with -o json or -o yaml")
    with Client() as client:
        chosen = deployment or _busiest(client.get_endpoint(endpoint))
        if chosen is None:
            note(f"Endpoint {endpoint} has no deployments")
            return
        lines = client.get_logs(endpoint, chosen, tail=tail, replica=replica)
        emit(lines, output, lambda: _print(lines))
        if not lines and not follow:
            note(f"No log lines from {endpoint}/{chosen} yet")
        last = lines[-1]["id"] if lines else 0
        while follow:
            time.sleep(_POLL_S)
            lines = client.get_logs(endpoint, chosen, tail=1000, replica=replica, after=last)
            _print(lines)
            last = lines[-1]["id"] if lines else last


def _busiest(item: Any) -> str | None:
    names = [deployment["name"] for deployment in item["deployments"]]
    return max(names, key=lambda name: item["traffic"].get(name, 0), default=None)


def _print(lines: list[Any]) -> None:
    for line in lines:
        click.echo(f"{line['at']} {line['replica_id']} {line['text']}")

"""``shoal logs``: what the runtime processes of an endpoint said."""

import time
from functools import partial
from typing import Any

import click

from shoal.cli.output import emit, output_option
from shoal.cli.times import Moment

LEVELS = ("warn", "error")
_POLL_S = 1.0


@click.command(short_help="Print what an endpoint's replicas said.")
@click.argument("endpoint")
@click.option("--deployment", "-d", help="Default: the one with the most traffic.")
@click.option("--replica", help="Only this replica.")
@click.option("--grep", metavar="TEXT", help="Only lines with this text, whatever its case.")
@click.option("--level", type=click.Choice(LEVELS), help="Only lines as bad, or worse.")
@click.option(
    "--since", type=Moment(), metavar="WHEN", help="Only lines since then: 30m, 24h, 2026-11-22."
)
@click.option("--tail", "-l", type=click.IntRange(1), default=200, show_default=True, help="Lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on with new lines until Ctrl-C.")
@output_option
def logs(
    endpoint: str,
    deployment: str | None,
    replica: str | None,
    grep: str | None,
    level: str | None,
    since: str | None,
    tail: int,
    follow: bool,
    output: str,
) -> None:
    """Print log lines of an endpoint's replicas, oldest first.

    All that is kept is searched: the last 20,000 lines of a deployment.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    if follow and output != "table":
        raise click.UsageError("--follow prints lines; it does not go with -o json or -o yaml")
    with Client() as client:
        chosen = deployment or _busiest(client.get_endpoint(endpoint))
        if chosen is None:
            note(f"Endpoint {endpoint} has no deployments")
            return
        searched = partial(
            client.get_logs, endpoint, chosen, replica=replica, q=grep, level=level, since=since
        )
        lines = searched(tail=tail)
        emit(lines, output, lambda: _print(lines))
        if not lines and not follow:
            none = (
                "No such log lines" if (replica or grep or level or since) else "No log lines yet"
            )
            note(f"{none} from {endpoint}/{chosen}")
        last = lines[-1]["id"] if lines else 0
        while follow:
            time.sleep(_POLL_S)
            lines = searched(tail=1000, after=last)
            _print(lines)
            last = lines[-1]["id"] if lines else last


def _busiest(item: Any) -> str | None:
    names = [deployment["name"] for deployment in item["deployments"]]
    return max(names, key=lambda name: item["traffic"].get(name, 0), default=None)


def _print(lines: list[Any]) -> None:
    for line in lines:
        click.echo(f"{line['at']} {line['replica_id']} {line['text']}")

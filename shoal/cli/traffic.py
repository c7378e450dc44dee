"""``shoal traffic``: who answers an endpoint's requests."""

import click

from shoal.cli.options import AzCommand, percentages, supersede_option
from shoal.cli.output import emit, output_option, print_rows


@click.command(cls=AzCommand)
@click.argument("endpoint")
@click.argument("shares", nargs=-1, metavar="[NAME=PERCENT]...")
@click.option(
    "--mirror", metavar="NAME=PERCENT", help="Send copies to a deployment; NAME=0 ends that."
)
@supersede_option
@output_option
def traffic(
    endpoint: str, shares: tuple[str, ...], mirror: str | None, supersede: bool, output: str
) -> None:
    """Show or set how an endpoint's requests are shared out.

    \b
      shoal traffic net                      show it
      shoal traffic net blue=90 green=10     set it: all of it, 100 in sum
      shoal traffic net blue=0               answer nobody
      shoal traffic net --mirror green=10    send green copies of a tenth

    Returns once every gateway acts on it. Callers notice nothing. Deployments that are coming up
    are waited for; with --supersede none is, and what is about to move the traffic is cancelled.
    """
    from shoal.cli.session import ml_client

    with ml_client() as client:
        if shares or mirror:
            wanted = percentages(shares, "NAME=PERCENT") if shares else None
            copies = percentages((mirror,), "--mirror") if mirror else None
            poller = client.online_endpoints.set_traffic(
                endpoint, wanted, copies, supersede=supersede
            )
            shown = client.client.get_endpoint(str(poller.result().name))
        else:
            shown = client.client.get_endpoint(endpoint)
    value = {
        "traffic": shown["traffic"],
        "mirror_traffic": shown["mirror_traffic"],
        "routed": shown.get("routed", True),
    }
    columns = {
        "DEPLOYMENT": lambda row: row["name"],
        "TRAFFIC": lambda row: f"{shown['traffic'].get(row['name'], 0)} %",
        "MIRROR": lambda row: f"{shown['mirror_traffic'].get(row['name'], 0)} %",
        "STATE": lambda row: row["serving_state"],
    }
    emit(value, output, lambda: print_rows(shown["deployments"], columns, "No deployments"))

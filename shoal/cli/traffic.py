"""``shoal traffic``: who answers an endpoint's requests."""

from collections.abc import Mapping
from typing import Any

import click

from shoal.cli.options import AzCommand, percentages, supersede_option
from shoal.cli.output import emit, output_option, print_rows
from shoal.cli.rules import RULE, STICKY, rule_text, rules_of, sticky_of, sticky_text


@click.command(cls=AzCommand)
@click.argument("endpoint")
@click.argument("shares", nargs=-1, metavar="[NAME=PERCENT]...")
@click.option(
    "--mirror", metavar="NAME=PERCENT", help="Send copies to a deployment; NAME=0 ends that."
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar=RULE,
    help="Who goes to a deployment whatever the shares say; in order, and all of them.",
)
@click.option("--no-rules", is_flag=True, help="Take all rules away.")
@click.option("--sticky", metavar=STICKY, help="Keep each client with one deployment.")
@click.option("--max-age", type=int, metavar="SECONDS", help="How long a client keeps its cookie.")
@supersede_option
@output_option
def traffic(
    endpoint: str,
    shares: tuple[str, ...],
    mirror: str | None,
    rules: tuple[str, ...],
    no_rules: bool,
    sticky: str | None,
    max_age: int | None,
    supersede: bool,
    output: str,
) -> None:
    """Show or set how an endpoint's requests are shared out.

    \b
      shoal traffic net                          show it
      shoal traffic net blue=90 green=10         set it: all of it, 100 in sum
      shoal traffic net blue=0                   answer nobody
      shoal traffic net --mirror green=10        send green copies of a tenth
      shoal traffic net --rule 'x-group=testers->green' --rule 'x-debug->green'
      shoal traffic net --rule 'user-agent^=beta/->green'    by how it begins
      shoal traffic net --rule 'x-team~team-[0-9]+->green'   by an expression
      shoal traffic net --sticky header=x-user   users stay with one version
      shoal traffic net --sticky cookie=arm --max-age 3600

    Returns once every gateway acts on it. Callers notice nothing. Deployments that are coming up
    are waited for; with --supersede none is, and what is about to move the traffic is cancelled.
    """
    from shoal.cli.session import ml_client

    if rules and no_rules:
        raise click.UsageError("Give --rule or --no-rules, not both.")
    if max_age is not None and sticky is None:
        raise click.UsageError("--max-age is of a cookie: give --sticky cookie=NAME as well.")
    wanted = percentages(shares, "NAME=PERCENT") if shares else None
    copies = percentages((mirror,), "--mirror") if mirror else None
    ruled = rules_of(rules) if rules or no_rules else None
    kept = sticky_of(sticky, max_age) if sticky is not None else None
    with ml_client() as client:
        if any(part is not None for part in (wanted, copies, ruled, kept)):
            poller = client.online_endpoints.set_traffic(
                endpoint, wanted, copies, rules=ruled, sticky=kept, supersede=supersede
            )
            shown = client.client.get_endpoint(str(poller.result().name))
        else:
            shown = client.client.get_endpoint(endpoint)
    value = {
        "traffic": shown["traffic"],
        "mirror_traffic": shown["mirror_traffic"],
        "traffic_rules": shown.get("traffic_rules", []),
        "sticky": shown.get("sticky"),
        "routed": shown.get("routed", True),
    }
    emit(value, output, lambda: _print(shown))


def _print(shown: Mapping[str, Any]) -> None:
    columns = {
        "DEPLOYMENT": lambda row: row["name"],
        "TRAFFIC": lambda row: f"{shown['traffic'].get(row['name'], 0)} %",
        "MIRROR": lambda row: f"{shown['mirror_traffic'].get(row['name'], 0)} %",
        "STATE": lambda row: row["serving_state"],
    }
    print_rows(shown["deployments"], columns, "No deployments")
    if rules := shown.get("traffic_rules"):
        click.echo()
        print_rows(rules, {"RULES, THE FIRST THAT FITS": rule_text}, "")
    if told := sticky_text(shown.get("sticky")):
        click.echo(f"\nClients stay with one deployment, told apart {told}")

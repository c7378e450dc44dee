"""``shoal autoscale``: what a policy would have done, before it does anything."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import moment

LONGEST_HOURS = 48


@click.group(short_help="What a policy would have done.")
def autoscale() -> None:
    """Try a policy on what a deployment has carried.

    The policy itself is `autoscale:` of the deployment's file; `shoal online-deployment show` tells
    what the autoscaler wants now, and why.
    """


@autoscale.command(short_help="Show the replicas that would have run.")
@click.argument("endpoint")
@click.argument("deployment")
@click.option(
    "--file",
    "-f",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Of the deployment, with `autoscale:`. Default: the policy that it has.",
)
@click.option(
    "--hours",
    type=click.IntRange(1, LONGEST_HOURS),
    default=24,
    show_default=True,
    help="Up to now.",
)
@output_option
def preview(endpoint: str, deployment: str, file: Path | None, hours: int, output: str) -> None:
    """Show how many replicas would have run in the last hours, and why.

    The same decision is run over what was measured, by the means of minutes; nothing changes.

    \b
      shoal autoscale preview quote blue
      shoal autoscale preview quote blue -f blue.yml --hours 48
    """
    from shoal.client import Client

    policy = None if file is None else _policy_in(file, deployment)
    with Client() as client:
        item = client.preview_autoscaling(endpoint, deployment, autoscale=policy, hours=hours)
    emit(item, output, lambda: _print(item, hours))


def _policy_in(file: Path, deployment: str) -> dict[str, Any]:
    from shoal.entities.loading import load_online_deployment

    policy = load_online_deployment(file, params_override=[{"name": deployment}]).autoscale
    if policy is None:
        raise click.BadParameter(f"{file} has no `autoscale:`", param_hint="--file")
    return policy


def _print(item: Any, hours: int) -> None:
    if not item["measured_s"]:
        click.echo(f"Nothing was measured in the last {hours} h.")
        return
    least, most, changes = item["least"], item["most"], item["changes"]
    ran = f"{most}" if least == most else f"{least} to {most}"
    click.echo(
        f"Replicas that would have run in the last {hours} h: {ran}, "
        f"{item['replica_hours']:.1f} replica-hours; changes: {len(changes)}. "
        f"Of that time {item['measured_s'] / 3600:.1f} h were measured."
    )
    for name in item["ignored"]:
        click.echo(f"{name} is left out: what it was depended on how many ran then.")
    columns = {
        "AT": lambda change: moment(datetime.fromtimestamp(change["at"], UTC).isoformat()),
        "REPLICAS": lambda change: change["count"],
        "WHY": lambda change: change["reason"],
    }
    if changes:
        click.echo()
        print_rows(changes, columns, "")

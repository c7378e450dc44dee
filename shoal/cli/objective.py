"""``shoal objective``: what is promised of an endpoint, and what is left of its error budget."""

from typing import Any

import click

from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment


@click.group(short_help="Promises of an endpoint, and what is left of their error budgets.")
def objective() -> None:
    """Say what share of an endpoint's requests shall be good, and see what is left of the rest.

    \b
      shoal objective set quote answered --availability 99.9
      shoal objective set quote quick --latency 250 --target 99
      shoal objective list quote
    """


@objective.command("set", cls=AzCommand, short_help="Make an objective, or make it anew.")
@click.argument("endpoint")
@click.argument("name")
@click.option(
    "--availability", type=float, metavar="PERCENT", help="So many are not answered by a 5xx."
)
@click.option(
    "--latency",
    type=float,
    metavar="MS",
    help="So quick: a bound of shoal_gateway_request_seconds, as 100, 250, 500 or 1000.",
)
@click.option("--target", type=float, metavar="PERCENT", help="So many are as quick as --latency.")
@click.option(
    "--days",
    type=click.IntRange(1, 28),
    default=28,
    show_default=True,
    help="That the objective is about.",
)
@output_option
def set_(
    endpoint: str,
    name: str,
    availability: float | None,
    latency: float | None,
    target: float | None,
    days: int,
    output: str,
) -> None:
    """Make an objective, or make it anew. The past counts at once."""
    from shoal.client import Client

    if (availability is None) == (latency is None) or (latency is None) != (target is None):
        raise click.UsageError("Say --availability PERCENT, or --latency MS with --target PERCENT.")
    with Client() as client:
        item = client.set_objective(
            endpoint,
            name,
            kind="availability" if availability is not None else "latency",
            target_percent=availability if availability is not None else target or 0.0,
            window_days=days,
            threshold_ms=latency,
        )
    emit(item, output, lambda: _print(item))


@objective.command("list")
@click.argument("endpoint")
@output_option
def list_(endpoint: str, output: str) -> None:
    """List an endpoint's objectives with what is left of their budgets."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_objectives(endpoint)
    columns = {
        "NAME": lambda item: item["name"],
        "PROMISE": promise,
        "GOOD": lambda item: _percent(item["good_percent"]),
        "REQUESTS": lambda item: f"{item['requests']:,}",
        "BUDGET LEFT": _left,
        "STATE": lambda item: item["state"].replace("_", " "),
    }
    emit(items, output, lambda: print_rows(items, columns, "No objectives yet"))


@objective.command()
@click.argument("endpoint")
@click.argument("name")
@output_option
def show(endpoint: str, name: str, output: str) -> None:
    """Show budget and burn rates."""
    from shoal.client import Client

    with Client() as client:
        item = client.get_objective(endpoint, name)
    emit(item, output, lambda: _print(item))


@objective.command()
@click.argument("endpoint")
@click.argument("name")
def delete(endpoint: str, name: str) -> None:
    """Remove an objective; an alert of it is resolved."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.delete_objective(endpoint, name)
    note(f"Removed {name} of {endpoint}")


BURNS = {
    "WINDOWS": lambda one: f"{_span(one['long_s'])} and {_span(one['short_s'])}",
    "BURN RATES": lambda one: f"{_rate(one['long_rate'])} and {_rate(one['short_rate'])}",
    "BURNING ABOVE": lambda one: f"{one['factor']:g}",
    "BURNING": lambda one: {None: "no data", True: "yes", False: "no"}[one["burning"]],
}


def _print(item: Any) -> None:
    print_fields(
        {
            "Objective": f"{item['name']} of {item['endpoint']}",
            "Promise": promise(item),
            "State": item["state"].replace("_", " "),
            "Why": item["told"] or None,
            "Good": f"{_percent(item['good_percent'])} of {item['requests']:,}, "
            f"{item['bad_requests']:,} bad",
            "Budget left": _left(item),
            "Set": f"{moment(item['updated_at'])}, made by {item['created_by']}",
        }
    )
    click.echo()
    print_rows(item["burn_rates"], BURNS, "")


def promise(item: Any) -> str:
    what = "without a 5xx"
    if item.get("threshold_ms") is not None:
        what = f"within {item['threshold_ms']:g} ms"
    return f"{item['target_percent']:g} % {what}, {item['window_days']} days"


def _percent(value: float | None) -> str:
    """Rounded down, so that nothing seems to be kept that is not."""
    return "–" if value is None else f"{int(value * 1000) / 1000:g} %"


def _left(item: Any) -> str:
    left = item["budget_left"]
    return "–" if left is None else f"{100 * left:.1f} %"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.3g}"


def _span(seconds: float) -> str:
    if seconds < 3600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h" if seconds < 86_400 else f"{seconds / 86_400:g} days"

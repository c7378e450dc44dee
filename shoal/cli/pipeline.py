"""``shoal pipeline``: what each step of a deployment is doing, the slow or faulty one marked."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import duration, moment

SLOW = {"queue": "slow: it waits", "compute": "slow: it computes"}
FAULTY = {"rising": "fails, more and more", "failing": "fails"}
MISSING = "-"


@click.command("pipeline", short_help="Show what each model of a deployment does.")
@click.argument("endpoint")
@click.option("--deployment", "-d", help="Default: the one that gets most traffic.")
@output_option
def pipeline(endpoint: str, deployment: str | None, output: str) -> None:
    """Show what each model of a deployment is doing.

    These are the steps of ensembles, and models that others call. Figures are those of the last
    seconds. The step that takes most of the time is marked, and those that fail. Below them is
    which model calls which other one (BLS), as replicas counted it since they loaded it.
    """
    from shoal.client import Client

    with Client() as client:
        if deployment is None:
            traffic = client.get_endpoint(endpoint)["traffic"]
            deployment = max(sorted(traffic), key=lambda name: traffic[name], default=None)
            if deployment is None:
                raise click.UsageError(f"Endpoint {endpoint} has no deployment.")
        item = client.get_pipeline(endpoint, deployment)
    emit(item, output, lambda: _print(item))


def _print(item: Any) -> None:
    columns = {
        "MODEL": lambda one: one["name"],
        "REQ/S": lambda one: _number(one["request_rate"]),
        "QUEUE": lambda one: _time(one["queue_us"]),
        "COMPUTE": lambda one: _time(one["compute_us"]),
        "BATCH": lambda one: _number(one["mean_batch"]) if one["executes"] else MISSING,
        "WAITING": lambda one: _number(one["pending"]),
        "ERRORS/S": lambda one: _number(one["failure_rate"]),
        "SHARE": lambda one: MISSING if one["share"] is None else f"{100 * one['share']:.0f} %",
        "MARK": _marks,
    }
    print_rows(item["models"], columns, "Nothing was measured in the last seconds.")
    if item["calls"]:
        calls = {
            "CALLER": lambda one: one["caller"],
            "CALLS": lambda one: one["callee"],
            "CALLS/S": lambda one: _number(one["call_rate"]),
            "A REQUEST": lambda one: _number(one["per_request"]),
            "MEAN": lambda one: _time(one["mean_us"]),
            "ERRORS/S": lambda one: _number(one["failure_rate"]),
            "IN ALL": lambda one: f"{one['calls']:.0f}",
            "LAST": lambda one: moment(one["last_at"]),
        }
        click.echo()
        print_rows(item["calls"], calls, "")


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _time(us: float | None) -> str:
    return MISSING if us is None else duration(us / 1e6)


def _marks(one: Any) -> str:
    marks = (SLOW.get(one["slow"]), FAULTY.get(one["faulty"]))
    return "; ".join(mark for mark in marks if mark)

"""``shoal rollout``: traffic to a candidate step by step, as long as it does no worse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import AzCommand, file_option, supersede_option
from shoal.cli.output import emit, output_option, print_rows
from shoal.cli.rollout_options import plan_laid, plan_options
from shoal.cli.rollout_shown import KINDS, print_rollout
from shoal.display.units import moment

id_argument = click.argument("rollout_id", required=False)


@click.group(short_help="Move traffic step by step, and back where the new version does worse.")
def rollout() -> None:
    """Move an endpoint's traffic to a candidate step by step.

    The candidate is compared with what answers beside it. Where it does worse it is withdrawn: the
    traffic goes back to what it was. Without ROLLOUT_ID the endpoint's latest rollout is meant.
    """


@rollout.command(cls=AzCommand, short_help="Begin to move traffic to a ready deployment.")
@click.argument("endpoint", required=False)
@click.argument("deployment", required=False)
@plan_options
@click.option("--watch", is_flag=True, help="Follow it to its end; exit code 1 unless it succeeds.")
@supersede_option
@file_option("rollout")
@output_option
def start(
    endpoint: str | None,
    deployment: str | None,
    watch: bool,
    supersede: bool,
    file: Path | None,
    output: str,
    **given: Any,
) -> None:
    """Give a ready deployment the traffic of the first step, and more while it does no worse.

    Options go before what a file says, and so do ENDPOINT and DEPLOYMENT.

    \b
      shoal rollout start net green
      shoal rollout start net green --steps 5:60,25:600,100 --watch
      shoal rollout start net green --shadow 10:300
      shoal rollout start net green --strategy blue_green --hold 600
      shoal rollout start -f rollout.yml
    """
    from shoal.cli.session import ml_client
    from shoal.entities.loading import load_rollout

    if file is None and deployment is None:
        raise click.UsageError("Name ENDPOINT and DEPLOYMENT, or give --file with them in it.")
    named = {"endpoint": endpoint, "deployment": deployment}
    laid = {name: value for name, value in named.items() if value is not None}
    plan = load_rollout(file or {}, params_override=[laid])
    plan_laid(plan, given)
    with ml_client() as client:
        item = client.rollouts.create(plan, supersede=supersede)
    if watch:
        _follow(plan.endpoint, item["id"], output)
    else:
        emit(item, output, lambda: print_rollout(item))


@rollout.command()
@click.argument("endpoint")
@id_argument
@output_option
def show(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Show steps, figures of both versions, the reason.

    With -o yaml it is a file that `start` takes.
    """
    from shoal.client import Client

    with Client() as client:
        item = client.get_rollout(endpoint, rollout_id)
    emit(item, output, lambda: print_rollout(item))


@rollout.command(short_help="Show inputs that the candidate answered otherwise.")
@click.argument("endpoint")
@id_argument
@output_option
def differences(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Show the last inputs that the candidate answered otherwise, the newest first.

    Deployers only: they have values. A captured one lies in the file that is named, which
    `shoal capture download` fetches.
    """
    from shoal.client import Client

    with Client() as client:
        items = client.rollout_differences(endpoint, rollout_id)
    columns = {
        "AT": lambda item: moment(item["at"]),
        "INPUT": lambda item: KINDS[item["source"]],
        "MODEL": lambda item: item["model"],
        "DIFFERENCE": lambda item: item["text"],
        "FILE": lambda item: (
            item["file"][:12] + ("" if item["kept"] else " (gone)") if item["file"] else None
        ),
        "LINE": lambda item: item["line"] or None,
    }
    emit(items, output, lambda: print_rows(items, columns, "No input was answered otherwise"))


@rollout.command("list")
@click.argument("endpoint")
@output_option
def list_(endpoint: str, output: str) -> None:
    """List an endpoint's rollouts, newest first."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_rollouts(endpoint)
    columns = {
        "ID": lambda item: item["id"],
        "DEPLOYMENT": lambda item: item["deployment"],
        "STATE": lambda item: item["state"],
        "WHO": lambda item: item["created_by"],
        "STARTED": lambda item: moment(item["created_at"]),
        "WHY": lambda item: item["reason"],
    }
    emit(items, output, lambda: print_rows(items, columns, "No rollouts yet"))


@rollout.command()
@click.argument("endpoint")
@id_argument
@output_option
def watch(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Follow a rollout to its end; exit code 1 unless it succeeds."""
    _follow(endpoint, rollout_id, output)


@rollout.command()
@click.argument("endpoint")
@id_argument
@output_option
def pause(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Take no next step until resumed; guardrails go on."""
    _done(output, lambda client: client.pause_rollout(endpoint, rollout_id))


@rollout.command()
@click.argument("endpoint")
@id_argument
@output_option
def resume(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Let a paused rollout go on."""
    _done(output, lambda client: client.resume_rollout(endpoint, rollout_id))


@rollout.command()
@click.argument("endpoint")
@id_argument
@output_option
def promote(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Give the candidate all of the traffic now."""
    _done(output, lambda client: client.promote_rollout(endpoint, rollout_id))


@rollout.command()
@click.argument("endpoint")
@id_argument
@output_option
def abort(endpoint: str, rollout_id: str | None, output: str) -> None:
    """Give the traffic back to what had it before."""
    _done(output, lambda client: client.abort_rollout(endpoint, rollout_id))


def _done(output: str, action: Callable[[Any], Any]) -> None:
    from shoal.client import Client

    with Client() as client:
        item = action(client)
    emit(item, output, lambda: print_rollout(item))


def _follow(endpoint: str, rollout_id: str | None, output: str) -> None:
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.client.errors import ShoalError

    told: list[str] = []

    def tell(item: Any) -> None:
        # why by the step and the cause: a reason counts seconds down
        line = f"{item['percent']} %: {item['cause'] or item['state']}"
        if told[-1:] != [line]:
            told.append(line)
            note(f"{item['deployment']} {item['percent']} %  {item['reason']}".rstrip())

    with Client() as client:
        item = client.wait_rollout(endpoint, rollout_id, on_change=tell)
    emit(item, output, lambda: print_rollout(item))
    if item["state"] != "Succeeded":
        raise ShoalError(f"Rollout of {item['deployment']}: {item['state']}", item["reason"])

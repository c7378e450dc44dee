"""``shoal rollout``: traffic to a candidate step by step, as long as it does no worse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import AzCommand, file_option, pairs, supersede_option
from shoal.cli.output import emit, output_option, print_rows
from shoal.cli.rollout_shown import KINDS, print_rollout
from shoal.display.units import moment

STEPS, HOLD_S = "1,10,50,100", 300
SOURCES = ("cases", "random", "captured")
CHECK_S = 60  # before a switch
GUARDRAILS = (
    *("errors", "refusals", "latency_p95", "latency_p99", "latency_mean", "restarts"),
    *("saturation", "answers", "golden"),
)
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
@click.option(
    "--steps",
    metavar="PERCENT[:SECONDS],...",
    help="Shares of the candidate, and how long each but the last holds.  [default: 1,10,50,100]",
)
@click.option(
    "--hold",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="How long each step holds that --steps says nothing of.  [default: 300]",
)
@click.option(
    "--strategy",
    type=click.Choice(["steps", "blue_green"]),
    help="blue_green: all of the traffic at once, back where it does worse while --hold lasts.  "
    "[default: steps]",
)
@click.option(
    "--shadow",
    metavar="PERCENT[:SECONDS]",
    help="Copies of so many of the requests first, before any traffic; 300 s unless said.",
)
@click.option(
    "--min-requests",
    type=click.IntRange(min=1),
    help="That each version answers in a step before the next.  [default: 200]",
)
@click.option(
    "--tolerance",
    multiple=True,
    metavar="GUARDRAIL=TIMES",
    help=f"So many times as much is no concern, of {', '.join(GUARDRAILS)}.",
)
@click.option(
    "--confidence",
    multiple=True,
    metavar="GUARDRAIL=SHARE",
    help="That the candidate is worse, from which on it is withdrawn: errors=0.99.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(GUARDRAILS),
    metavar="GUARDRAIL",
    help="Do not look at this one.",
)
@click.option(
    "--compare",
    type=click.IntRange(min=1),
    metavar="PER_MINUTE",
    help="Ask both versions so many inputs, and compare the answers.",
)
@click.option(
    "--compare-by",
    type=click.Choice(["values", "best_class"]),
    help="best_class: scores of classes agree where the best class does.  [default: values]",
)
@click.option(
    "--compare-from",
    "sources",
    multiple=True,
    type=click.Choice(SOURCES),
    help="Where inputs come from; may come more than once. captured: what clients asked of the "
    "stable deployment, where it captures.  [default: all of them]",
)
@click.option(
    "--captured-hours",
    type=click.IntRange(1, 168),
    help="Captured requests of so many hours until now.  [default: 24]",
)
@click.option("--watch", is_flag=True, help="Follow it to its end; exit code 1 unless it succeeds.")
@supersede_option
@file_option("rollout")
@output_option
def start(
    endpoint: str | None,
    deployment: str | None,
    steps: str | None,
    hold: int | None,
    strategy: str | None,
    shadow: str | None,
    min_requests: int | None,
    tolerance: tuple[str, ...],
    confidence: tuple[str, ...],
    without: tuple[str, ...],
    compare: int | None,
    compare_by: str | None,
    sources: tuple[str, ...],
    captured_hours: int | None,
    watch: bool,
    supersede: bool,
    file: Path | None,
    output: str,
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
    guardrails: dict[str, Any] = {**(plan.guardrails or {}), **dict.fromkeys(without)}
    for option, given in (("tolerance", tolerance), ("confidence", confidence)):
        for name, value in pairs(given, f"--{option}").items():
            guardrails[name] = {**(guardrails.get(name) or {}), option: _number(value, option)}
    said = {"by": compare_by, "sources": list(sources), "captured_hours": captured_hours}
    compared = {name: value for name, value in said.items() if value}
    compared |= {"per_minute": compare} if compare else {}
    if compared:
        plan.compare = {**(plan.compare or {}), **compared}
    if plan.compare and "per_minute" not in plan.compare:
        raise click.UsageError(
            "--compare-by, --compare-from and --captured-hours say how --compare compares: give it."
        )
    if strategy is not None and strategy != plan.strategy:
        plan.strategy = strategy
        plan.steps = None  # why: those of a file are of its own strategy
    if steps or hold is not None:
        known = f"0:{CHECK_S},100" if plan.strategy == "blue_green" else STEPS
        plan.steps = _steps(steps or known, hold, last=plan.strategy != "blue_green")
    if shadow is not None:
        copies = _steps(shadow, None, "--shadow")
        if len(copies) != 1:
            raise click.BadParameter(f"{shadow!r}, expected one", param_hint="--shadow")
        plan.shadow = copies[0]
    if min_requests is not None:
        plan.min_requests = min_requests
    plan.guardrails = guardrails or None
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


def _steps(
    text: str, hold: int | None, option: str = "--steps", *, last: bool = False
) -> list[dict[str, int]]:
    """``last``: the step to 100 percent ends it, and holds only what is said of it."""
    found = []
    for part in text.split(","):
        percent, colon, seconds = part.strip().removesuffix("%").partition(":")
        ends = not colon and last and percent.strip() == "100"
        seconds = seconds if colon else str(HOLD_S if hold is None else hold)
        if not (percent.strip().isdecimal() and seconds.strip().isdecimal()):
            raise click.BadParameter(
                f"{part.strip()!r}, expected PERCENT or PERCENT:SECONDS", param_hint=option
            )
        held = {} if ends else {"hold_s": int(seconds)}
        found.append({"percent": int(percent), **held})
    return found


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no number", param_hint=f"--{option}") from error

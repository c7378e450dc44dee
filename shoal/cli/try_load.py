"""``shoal model try-load``: does a version load, and what does it take, without an endpoint."""

from typing import Any

import click

from shoal.cli.hints import as_commands
from shoal.cli.output import emit, output_option, print_fields
from shoal.cli.runs import exit_code, follow
from shoal.display.units import byte_count, duration


@click.command("try-load", short_help="Load a model on a node once, to see whether it does.")
@click.argument("model", metavar="NAME[:VERSION]")
@click.option("--node", help="Default: where it would be placed.")
@click.option("--instance-type", help="As a deployment with this instance type.")
@click.option("--timeout", type=click.IntRange(1), help="Seconds, downloading included.")
@click.option(
    "--only-approved",
    is_flag=True,
    help="Refuse code that nobody has approved, also where you may have it run.",
)
@output_option
def try_load(
    model: str,
    node: str | None,
    instance_type: str | None,
    timeout: int | None,
    only_approved: bool,
    output: str,
) -> int:
    """Load a registered model on a node once, to see whether and how it does.

    Prints what it takes; with -o json also the configuration in effect and the last lines of
    the runtime's log. Exit code 1 if it does not load; Ctrl-C ends the trial.
    """
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.client.runs import UNDER_WAY

    name, _, version = model.partition(":")
    with Client() as client:
        trial = client.start_try_load(
            name,
            version or "latest",
            node=node or "",
            instance_type=instance_type or "",
            timeout_s=timeout,
            only_approved=only_approved,
        )
        phase = ""

        def tell(seen: Any) -> None:
            nonlocal phase
            if seen["phase"] != phase and seen["state"] in UNDER_WAY:
                phase = seen["phase"]
                note(f"… {phase} on {seen['node'] or 'a node'}")

        again, cancel = client.get_try_load, client.cancel_try_load
        ended = follow(client, trial, tell, again, cancel=cancel)
    emit(ended, output, lambda: print_fields(_fields(ended)))
    return exit_code(ended)


def _fields(trial: Any) -> dict[str, object]:
    error = trial["error"]
    load_s = trial["load_seconds"]
    return {
        "State": trial["state"],
        "Model": f"{trial['model']}:{trial['version']}",
        "Node": trial["node"],
        "Load time": duration(load_s) if load_s is not None else None,
        "Memory": byte_count(trial["memory_bytes"]) if trial["memory_bytes"] else None,
        "Why": error.get("message") if error else None,
        "Detail": error.get("detail") if error else None,
        "What to try": " ".join(as_commands(error.get("hints"))) if error else None,
    }

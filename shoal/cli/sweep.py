"""``shoal sweep``: how a deployment does under more and more load, measured beside it."""

from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.load_options import load_asked, load_options, point_line, print_points
from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_fields
from shoal.cli.runs import Measuring, Tell, add_commands


@click.group(short_help="Measure a deployment under more and more load.")
def sweep() -> None:
    """Measure how a replica answers under more and more load: throughput, latency, batches.

    The node's agent asks the replica beside it, so that neither your line nor the gateway counts.

    \b
      shoal sweep start net blue --concurrency 1..64 --slo p99=20 --watch
      shoal sweep list net blue
      shoal sweep show ID --csv points.csv
    """


@sweep.command(cls=AzCommand, short_help="Begin to measure.")
@click.argument("endpoint")
@click.argument("deployment")
@load_options()
@click.option("--model", "-m", default="", help="As clients call it. Default: the first.")
@click.option("--case", "case_name", help="Name of a saved case; default: random data.")
@click.option("--while-serving", is_flag=True, help="Though clients send it traffic meanwhile.")
@click.option("--watch", is_flag=True, help="Follow it to its end; exit code 1 unless it succeeds.")
@output_option
def start(
    endpoint: str,
    deployment: str,
    model: str,
    case_name: str | None,
    while_serving: bool,
    watch: bool,
    output: str,
    **load: Any,
) -> int:
    """Ask a ready replica more and more, and measure it at each level.

    With --watch, Ctrl-C ends the sweep; what was measured until then is kept.
    """
    from shoal.client import Client

    asked = load_asked(load)
    with Client() as client:
        more: dict[str, Any] = {"case": case_called(client, case_name, model)} if case_name else {}
        item = client.start_sweep(
            endpoint, deployment, while_serving=while_serving, model=model, **asked, **more
        )
        return KIND.begun(client, item, output, watch=watch)


@sweep.command(cls=AzCommand, short_help="Show what was measured, and what it means.")
@click.argument("sweep_id")
@click.option(
    "--csv", "csv_file", type=click.Path(dir_okay=False, path_type=Path), help="Write points here."
)
@output_option
def show(sweep_id: str, csv_file: Path | None, output: str) -> None:
    """Show what was measured, the knee, and what it reaches within its objective."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        item = client.get_sweep(sweep_id)
        if csv_file is not None:
            csv_file.write_text(client.sweep_csv(sweep_id))
            note(f"{len(item['points'])} point(s) are in {csv_file}")
    emit(item, output, lambda: _print(item))


def case_called(client: Any, name: str, model: str) -> str:
    found = [case for case in client.list_test_cases(model=model) if case["name"] == name]
    if len(found) != 1:
        many = "several cases are" if found else "no saved case is"
        raise click.BadParameter(
            f"{many} called {name!r}: `shoal test list` shows them, --model tells them apart.",
            param_hint="--case",
        )
    return str(found[0]["id"])


def _teller(begun: Any) -> Tell:
    from shoal.cli.report import note

    told = 0
    note(f"Sweep {begun['id']} on {begun['node']}, about {begun['expected_s']:.0f} s")

    def tell(item: Any) -> None:
        nonlocal told
        for point in item["points"][told:]:
            note(point_line(point, item["mode"]))
        told = len(item["points"])

    return tell


def _print(item: Any) -> None:
    error = item["error"]
    print_fields(
        {
            "Sweep": item["id"],
            "State": item["state"],
            "Deployment": f"{item['endpoint']}/{item['deployment']}, revision {item['revision']}",
            "Replica": f"{item['replica']} on {item['node']}",
            "Sent": f"{item['case'] or 'random data'} to {item['model']}",
            "Why": error["message"] if error else None,
            "Detail": error["detail"] or None if error else None,
        }
    )
    click.echo()
    print_points(item)


KIND: Final = Measuring(
    noun="sweep",
    get=lambda client, run_id: client.get_sweep(run_id),
    cancel=lambda client, run_id: client.cancel_sweep(run_id),
    every=lambda client, endpoint, deployment: client.list_sweeps(endpoint, deployment),
    columns={
        "REVISION": lambda item: item["revision"],
        "MODEL": lambda item: item["model"],
        "INPUTS": lambda item: item["case"] or "random",
        "BY": lambda item: item["mode"],
        "POINTS": lambda item: f"{item['measured']} of {len(item['levels'])}",
        "NODE": lambda item: item["node"],
    },
    teller=_teller,
    show=_print,
)
add_commands(sweep, KIND)

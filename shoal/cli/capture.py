"""``shoal capture``: captured requests of a deployment, their statistics, and drift."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import byte_count, moment

LONGEST_HOURS = 168


@click.group(short_help="Captured requests of a deployment, their statistics, and drift.")
def capture() -> None:
    """See what a deployment is asked and answers, and whether that has changed.

    What is captured is said by `capture:` in the deployment's file, and nothing is unless said.

    \b
      shoal capture list quote blue
      shoal capture download quote blue --to captured
      shoal capture baseline quote blue --hours 24
      shoal capture stats quote blue
    """


@capture.command("list")
@click.argument("endpoint")
@click.argument("deployment")
@output_option
def list_(endpoint: str, deployment: str, output: str) -> None:
    """List files of captured requests, the latest first."""
    from shoal.client import Client

    with Client() as client:
        items = list(client.list_captured(endpoint, deployment))
    columns = {
        "ID": lambda item: item["id"][:12],
        "FROM": lambda item: moment(item["first_at"]),
        "TO": lambda item: moment(item["last_at"]),
        "REQUESTS": lambda item: f"{item['records']:,}",
        "DROPPED": lambda item: f"{item['dropped']:,}",
        "SIZE": lambda item: byte_count(item["size"]),
        "KEPT UNTIL": lambda item: moment(item["expires_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "Nothing is captured yet"))


@capture.command(short_help="Fetch files of captured requests.")
@click.argument("endpoint")
@click.argument("deployment")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("captured"),
    show_default=True,
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet"]),
    default="jsonl",
    show_default=True,
    help="parquet is made of it on this machine, by pyarrow.",
)
def download(endpoint: str, deployment: str, ids: tuple[str, ...], folder: Path, form: str) -> None:
    """Fetch files of captured requests, all of them unless ids (or their beginnings) are named.

    Each has a JSON object in each line, or a row for each request (--format parquet). The studio's
    event log says who fetched them.
    """
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.client.parquet import parquet_wanted

    if form == "parquet":
        parquet_wanted()
    with Client() as client:
        found = [
            file
            for file in client.list_captured(endpoint, deployment)
            if not ids or any(file["id"].startswith(one) for one in ids)
        ]
        if not found:
            raise click.ClickException(
                f"{endpoint}/{deployment} has no such file: `shoal capture list` shows them."
            )
        fetch = client.download_parquet if form == "parquet" else client.download_captured
        for file in found:
            fetch(endpoint, deployment, file, folder)
    records = sum(file["records"] for file in found)
    note(f"{len(found)} file(s) with {records:,} requests are in {folder}")


@capture.command(short_help="Statistics of inputs and outputs, and how far they have moved.")
@click.argument("endpoint")
@click.argument("deployment")
@click.option(
    "--hours",
    type=click.IntRange(1, LONGEST_HOURS),
    help="Of the window that ends now; as many as are held against the baseline unless given, "
    "or 24.",
)
@output_option
def stats(endpoint: str, deployment: str, hours: int | None, output: str) -> None:
    """Show statistics of each input and output, and how far it is from the baseline."""
    from shoal.client import Client

    with Client() as client:
        found = client.data_statistics(endpoint, deployment, hours=hours)
    emit(found, output, lambda: _print(found))


def _print(found: dict[str, Any]) -> None:
    baseline = found["baseline"]
    print_fields(
        {
            "captured": f"{found['records']:,} requests in {found['hours']} h"
            + (f", {found['dropped']:,} dropped" if found["dropped"] else "")
            + ("" if found["capturing"] else "; it captures nothing now"),
            "baseline": f"{baseline['source']}, {baseline['records']:,} requests; the last "
            f"{baseline['window_hours']} h are held against it"
            if baseline
            else "none: `shoal capture baseline` sets one",
            "left out": f"{found['left_out']:,} requests, of which the baseline was made"
            if found["left_out"]
            else None,
        }
    )
    columns = {
        "FEATURE": lambda one: f"{one['collection'].removeprefix('model_')}/{one['name']}",
        "ROWS": lambda one: f"{one['now']['rows']:,}" if one["now"] else "–",
        "MISSING": _missing,
        "MIN": lambda one: _number(one, "min"),
        "MEAN": lambda one: _number(one, "mean"),
        "MAX": lambda one: _number(one, "max"),
        "PSI": lambda one: "–" if one["psi"] is None else f"{one['psi']:.3f}",
        "KS P": lambda one: "–" if one["p_value"] is None else f"{one['p_value']:.2g}",
        "VERDICT": lambda one: (
            one["verdict"].replace("_", " ") + (f" ({one['told']})" if one["told"] else "")
        ),
    }
    print_rows(found["features"], columns, "Nothing was captured in this time")


def _missing(one: dict[str, Any]) -> str:
    now = one["now"]
    return f"{100 * now['missing'] / now['values']:.1f} %" if now and now["values"] else "–"


def _number(one: dict[str, Any], name: str) -> str:
    value = one["now"][name] if one["now"] else None
    return "–" if value is None else f"{value:.4g}"


@capture.command(cls=AzCommand, short_help="Say what data is compared with.")
@click.argument("endpoint")
@click.argument("deployment")
@click.option(
    "--hours",
    type=click.IntRange(1, LONGEST_HOURS),
    help="What was captured in so many hours until now.",
)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Records as captured files have them, such as of training data.",
)
@click.option(
    "--window",
    type=click.IntRange(1, LONGEST_HOURS),
    help="Hours until now that are held against it, by `stats` and by the alert; as before unless "
    "given, 24 at first. Alone it changes those of the baseline that there is.",
)
@click.option("--remove", is_flag=True, help="Compare with nothing any more.")
@output_option
def baseline(
    endpoint: str,
    deployment: str,
    hours: int | None,
    file: Path | None,
    window: int | None,
    remove: bool,
    output: str,
) -> None:
    """Set the baseline that drift is told by: captured data of some hours, or a file.

    What it was made of is left out of what is compared with it.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    said = (hours is not None) + (file is not None) + remove
    if said > 1 or (not said and window is None) or (remove and window is not None):
        raise click.UsageError(
            "Say one of --hours N, --file FILE and --remove; --window N alone, or with the first "
            "two."
        )
    with Client() as client:
        if remove:
            client.delete_baseline(endpoint, deployment)
            note(f"{endpoint}/{deployment} is compared with nothing any more")
            return
        if file is not None:
            found = client.upload_baseline(endpoint, deployment, file, window_hours=window)
        elif hours is None and window is not None:
            found = client.change_baseline(endpoint, deployment, window_hours=window)
        else:
            begin = datetime.now(UTC) - timedelta(hours=hours or 0)
            found = client.set_baseline(
                endpoint, deployment, begin=begin.isoformat(), window_hours=window
            )
    emit(
        found,
        output,
        lambda: note(
            f"The last {found['window_hours']} h are compared with {found['source']}, "
            f"{found['records']:,} requests"
        ),
    )

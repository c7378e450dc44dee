"""``shoal apply``, ``diff`` and ``export``: an installation's objects as a folder of YAML."""

from pathlib import Path

import click

from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_rows


@click.command(cls=AzCommand, short_help="Make the installation as YAML files say.")
@click.option(
    "--file",
    "-f",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="A YAML file, or a folder of them. May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@output_option
def apply(paths: tuple[Path, ...], dry_run: bool, output: str) -> None:
    """Make the installation as the files say; doing it twice changes nothing.

    Files are endpoints, deployments and models as `az ml` takes them. Order: models, endpoints,
    deployments, traffic. What no file names is left alone.

    All that can be asked beforehand is asked before the first change, with --dry-run and without.
    """
    from shoal.cli.folders import changes_of, check, perform
    from shoal.cli.session import ml_client

    with ml_client() as client:
        changes = changes_of(client, paths)
        check(client, changes)
        if not dry_run:
            perform(client, changes)
    rows = [change.shown() for change in changes]
    emit(rows, output, lambda: _print([row for row in rows if row["action"] != "none"]))


@click.command(cls=AzCommand)
@click.option(
    "--file",
    "-f",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="A YAML file, or a folder of them. May be repeated.",
)
@output_option
def diff(paths: tuple[Path, ...], output: str) -> int:
    """Print what `apply` would change. Exit code 1 if that is anything."""
    from shoal.cli.folders import changes_of
    from shoal.cli.session import ml_client

    with ml_client() as client:
        rows = [change.shown() for change in changes_of(client, paths)]
    rows = [row for row in rows if row["action"] != "none"]
    emit(rows, output, lambda: _print(rows))
    return 1 if rows else 0


@click.command(short_help="Write endpoints and deployments as YAML files.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path) -> None:
    """Write every endpoint and deployment as YAML that `apply` takes.

    Models are named by their registered versions; `shoal model download` fetches their files.
    Of a deployment that is autoscaled the number of replicas is left to its policy.
    """
    from shoal.cli.folders import write_all
    from shoal.cli.report import note
    from shoal.cli.session import ml_client

    with ml_client() as client:
        written = write_all(client, folder)
    note(f"{len(written)} files in {folder}")


def _print(rows: list[dict[str, str]]) -> None:
    columns = {
        "OBJECT": lambda row: row["object"],
        "ACTION": lambda row: row["action"],
        "CHANGE": lambda row: row["change"],
    }
    print_rows(rows, columns, "Everything is as the files say.")

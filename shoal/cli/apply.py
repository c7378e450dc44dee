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

    Files are endpoints, deployments and models as `az ml` takes them, and channels, rules and
    silences of alerts as `shoal channel create`, `alert rule` and `alert silence` do; one may have
    several, with `---` between them. Order: models, endpoints, deployments, traffic, channels,
    rules, silences. What no file names is left alone.

    All that can be asked beforehand is asked before the first change, with --dry-run and without.
    Secrets that are made for new channels are printed, this once.
    """
    from shoal.cli.folders import changes_of, check, perform
    from shoal.cli.session import ml_client

    secrets: dict[str, str] = {}
    with ml_client() as client:
        changes = changes_of(client, paths)
        check(client, changes)
        if not dry_run:
            secrets = perform(client, changes)
    rows = [change.shown() for change in changes]
    for row in rows:
        kind, _, name = row["object"].partition(" ")
        if kind == "channel" and name in secrets:
            row["secret"] = secrets[name]

    def shown() -> None:
        _print([row for row in rows if row["action"] != "none"])
        for name, secret in secrets.items():
            click.echo(f"\nSecret of the signatures of {name}, shown this once:\n{secret}")

    emit(rows, output, shown)


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


@click.command(short_help="Write endpoints, deployments, channels, rules and silences as YAML.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path) -> None:
    """Write every endpoint, deployment, channel, rule and silence as YAML that `apply` takes.

    Models are named by their registered versions; `shoal model download` fetches their files.
    URLs and secrets of channels are in no file: variables of the environment are named in their
    place, and told. Silences that have ended are left out.
    Of a deployment that is autoscaled the number of replicas is left to its policy.
    """
    from shoal.cli.folders import write_all
    from shoal.cli.report import note
    from shoal.cli.session import ml_client

    with ml_client() as client:
        written = write_all(client, folder)
    for text in written.notes:
        note(text)
    note(f"{len(written.paths)} files in {folder}")


def _print(rows: list[dict[str, str]]) -> None:
    columns = {
        "OBJECT": lambda row: row["object"],
        "ACTION": lambda row: row["action"],
        "CHANGE": lambda row: row["change"],
    }
    print_rows(rows, columns, "Everything is as the files say.")

"""``shoal backup`` and ``shoal restore``: one file that holds an installation."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.output import emit, output_option

if TYPE_CHECKING:
    from shoal.local.archive import Summary


@click.command(short_help="Write this installation into one file.")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--blobs",
    type=click.Choice(["copy", "reference"]),
    default="copy",
    show_default=True,
    help="Model files: copied into FILE, or read and checked where they lie, and named.",
)
@output_option
def backup(file: Path | None, blobs: str, output: str) -> int:
    """Write the installation that this environment names into FILE, also while Shoal runs.

    The database (SHOAL_DATABASE_URL, or that of SHOAL_HOME) as of one moment, then every model
    file that it names (SHOAL_BLOB_URL, or a folder), keys and certificates; not the metrics'
    history, logs, or what is made anew. PostgreSQL is read by its own pg_dump. FILE holds secrets
    and is readable for you alone; without a name it is shoal-<date>.tar.
    """
    from shoal import __version__
    from shoal.local.backup import back_up
    from shoal.local.installed import installation
    from shoal.local.settings import load

    archive = (file or Path(time.strftime("shoal-%Y-%m-%d-%H%M%S.tar"))).resolve()
    with _refusals():
        done = back_up(
            installation(load()), archive, __version__, _Progress(), copy=blobs == "copy"
        )
        _report(done, output)
    return 0


@click.command(short_help="Make an installation from a backup.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--check", "only_check", is_flag=True, help="Only read FILE whole, and say what is in it."
)
@click.option(
    "--replace",
    is_flag=True,
    help="Drop what is in the database; let other model files stay in their place.",
)
@output_option
def restore(file: Path, only_check: bool, replace: bool, output: str) -> int:
    """Make the installation that this environment names from FILE, which `shoal backup` wrote.

    Its database, and the data folder or the place of model files, must be empty or absent. Every
    byte is checked before anything is put in place; `shoal up`, or the programs of your cluster,
    then start what was deployed, under the same addresses and keys.
    """
    from shoal.local.backup import check
    from shoal.local.backup import restore as put_back
    from shoal.local.installed import installation
    from shoal.local.settings import load

    archive = file.resolve()
    with _refusals():
        if only_check:
            _report(check(archive, _Progress()), output)
            return 0
        here = installation(load())
        _report(put_back(archive, here, _Progress(), replace=replace), output)
    if here.in_one_folder:
        done = f"Restored to {here.home}. Start it with: SHOAL_HOME={here.home} shoal up"
    else:
        done = f"Restored to {here.database}, {here.blobs} and {here.home}. Start the set-up first."
    click.echo(done, err=True)
    return 0


@contextmanager
def _refusals() -> Iterator[None]:
    from shoal.local.backup import BackupError

    try:
        yield
    except (BackupError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _report(done: "Summary", output: str) -> None:
    shown = {
        "archive": str(done.archive),
        "version": done.version,
        "created": done.created,
        "files": done.files,
        "blobs": done.blobs,
        "size": done.size,
        "database": done.database,
        "referenced": len(done.referenced),
        "referencedIn": done.referenced_in,
    }

    def table() -> None:
        database = " ".join((done.database["engine"], done.database.get("server", ""))).strip()
        click.echo(
            f"{done.archive}: Shoal {done.version} on {database}, of {done.created}; "
            f"{done.files} files, {done.blobs} of them of models, {done.size} bytes"
        )
        if done.referenced:
            click.echo(f"{len(done.referenced)} files of models stay in {done.referenced_in}")

    emit(shown, output, table)


class _Progress:
    """A line on stderr that is written over; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, step: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        text = f"{step}: {100 * done // total:3d} %" if total else f"{step} ..."
        if text != self._said:
            ends = total > 0 and done >= total
            click.echo(f"\r{text:<60}", err=True, nl=ends)
            self._said = text

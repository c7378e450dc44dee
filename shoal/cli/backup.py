"""``shoal backup`` and ``shoal restore``: one file that holds an installation."""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shoal.cli.output import emit, output_option


@click.command(short_help="Write the installation of this machine into one file.")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@output_option
def backup(file: Path | None, output: str) -> int:
    """Write the data folder (SHOAL_HOME) into FILE, also while Shoal runs.

    The database as of one moment, every model file, keys and certificates; not the metrics'
    history, logs, or what is made anew. FILE holds secrets and is readable for you alone; without
    a name it is shoal-<date>.tar.
    """
    from shoal import __version__
    from shoal.local.backup import BackupError, back_up
    from shoal.local.settings import load

    archive = (file or Path(time.strftime("shoal-%Y-%m-%d-%H%M%S.tar"))).resolve()
    here = load()
    try:
        done = back_up(here.home, archive, __version__, _progress("backing up"), here.blobs)
    except (BackupError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report(asdict(done), output)
    return 0


@click.command(short_help="Make a new data folder from a backup.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_option
def restore(file: Path, output: str) -> int:
    """Make the data folder (SHOAL_HOME) from FILE, which `shoal backup` wrote.

    The folder must be empty or absent. Every byte is checked before anything is put in place;
    `shoal up` then starts what was deployed, under the same addresses and keys.
    """
    from shoal.local.backup import BackupError
    from shoal.local.backup import restore as unpack
    from shoal.local.settings import load

    home = load().home
    try:
        done = unpack(file.resolve(), home, _progress("restoring"))
    except (BackupError, OSError) as error:
        raise click.ClickException(str(error)) from error
    _report(asdict(done), output)
    click.echo(f"Restored to {home}. Start it with: SHOAL_HOME={home} shoal up", err=True)
    return 0


def _report(done: dict[str, Any], output: str) -> None:
    def table() -> None:
        click.echo(
            "{archive}: {files} files, {blobs} of them of models, of {created}".format(**done)
        )

    emit({**done, "archive": str(done["archive"])}, output, table)


def _progress(verb: str) -> Callable[[int, int], None]:
    """A line on stderr that is written over; nothing where stderr is no terminal."""

    def tell(done: int, total: int) -> None:
        if sys.stderr.isatty():
            share = 100 * done // max(total, 1)
            click.echo(f"\r{verb}: {share:3d} %", err=True, nl=done >= total)

    return tell

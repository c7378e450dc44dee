"""``shoal support-bundle``: one file that says how an installation does, without its secrets."""

import io
import os
import tarfile
import time
from pathlib import Path

import click

from shoal.cli.output import emit, output_option


@click.command(name="support-bundle", short_help="Write how this installation does into one file.")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@output_option
def support_bundle(file: Path | None, output: str) -> int:
    """Write FILE, an archive for who helps you from afar.

    It has versions, settings, what `shoal doctor` says, states of nodes, endpoints, deployments
    and operations, the last events and log lines, metrics, sizes of tables, migrations, processes.

    Passwords, tokens, keys and e-mail addresses are taken out of all of it; names of models,
    endpoints, people and machines are not. Nothing is sent anywhere: look through FILE, then send
    it yourself. For administrators; while the control plane does not answer, for who may read
    SHOAL_HOME, and with what this machine knows.
    """
    from shoal.cli.support_parts import Missing, Part, parts
    from shoal.local.settings import load

    here = load()
    archive = (file or Path(time.strftime("shoal-support-%Y-%m-%d-%H%M%S.tar.gz"))).resolve()
    found = list(parts(here.home, here.inherited))
    held = [one for one in found if isinstance(one, Part)]
    missing = [one for one in found if isinstance(one, Missing)]
    contents = "".join(f"{one.name}: {one.what}\n" for one in held)
    contents += "".join(f"{one.name}: could not be had: {one.why}\n" for one in missing)
    unfinished = archive.with_name(f".{archive.name}.part")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with (
            os.fdopen(descriptor, "wb") as stream,
            tarfile.open(fileobj=stream, mode="w:gz") as tar,
        ):
            for one in (Part("CONTENTS.txt", "this list", contents), *held):
                data = one.content.encode()
                member = tarfile.TarInfo(f"shoal-support/{one.name}")
                member.size, member.mode, member.mtime = len(data), 0o600, int(time.time())
                tar.addfile(member, io.BytesIO(data))
        unfinished.replace(archive)
    except OSError as error:
        raise click.ClickException(str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)

    def table() -> None:
        click.echo(contents, nl=False)
        click.echo(
            f"Wrote {archive}. Nothing was sent. Look through it first: tar -xzOf {archive} | less"
        )

    shown = {
        "archive": str(archive),
        "size": archive.stat().st_size,
        "parts": [{"name": one.name, "what": one.what} for one in held],
        "missing": [{"name": one.name, "why": one.why} for one in missing],
    }
    emit(shown, output, table)
    return 0

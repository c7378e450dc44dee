"""``shoal version``: this client's version, and that of the installation it finds."""

import click

from shoal import __version__
from shoal.cli.output import emit, output_option, print_fields


@click.command(short_help="Print the versions of client and installation.")
@output_option
def version(output: str) -> None:
    """Print the versions of this client and of the installation it talks to."""
    from shoal.client import Client
    from shoal.client.errors import ShoalError

    fields: dict[str, object] = {"client": __version__, "server": None, "url": None}
    try:
        with Client() as client:
            fields["url"] = client.installation.url
            fields["server"] = client.session()["version"]
    except ShoalError as error:
        click.echo(f"No server version: {error}", err=True)
    emit(fields, output, lambda: print_fields(fields))

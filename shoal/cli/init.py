"""``shoal init``: a model to start from."""

from pathlib import Path

import click

KINDS = ("python", "onnx", "ensemble")


@click.command(short_help="Write a model to start from.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--kind", "-k", type=click.Choice(KINDS), default=KINDS[0], show_default=True)
@click.option("--name", "-n", help="Of the model; default: as the folder.")
def init(folder: Path, kind: str, name: str | None) -> None:
    """Write a project into FOLDER: a model with its configuration, a client, a test that passes.

    \b
      shoal init my-model                  a Python model
      shoal init my-model --kind onnx      an ONNX network, to be replaced
      shoal init my-model --kind ensemble  a Python step before a network
    """
    from shoal.scaffold.project import create

    for path in create(folder, name or folder.absolute().name, kind):
        click.echo(folder / path)
    click.echo(f"\nNext: cd {folder}, then `shoal dev` serves it and tells of each request.")

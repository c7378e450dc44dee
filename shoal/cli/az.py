"""The name ``az``: called so, the program takes ``az ml ...`` and prints JSON by default.

Only what scripts around ``az ml`` call besides is answered, with stand-ins; all else is refused. No
file of that name is installed: put a link called ``az`` on PATH where it is wanted.
"""

import json
from collections.abc import Sequence
from typing import Any

import click

from shoal.cli.model import model
from shoal.cli.online_deployment import online_deployment
from shoal.cli.online_endpoint import online_endpoint
from shoal.cli.options import AzGroup, az_options
from shoal.cli.output import DEFAULT_FORM, emit, output_option, print_fields

STANDS_FOR = {
    "environmentName": "Shoal",
    "id": "shoal",
    "isDefault": True,
    "name": "shoal",
    "state": "Enabled",
    "tenantId": "shoal",
    "user": {"name": "shoal", "type": "user"},
}


@click.group(cls=AzGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def az(context: click.Context) -> None:
    """Shoal under az's name: the `az ml` commands for models and online endpoints."""
    context.meta[DEFAULT_FORM] = "json"


@az.group(cls=AzGroup)
def ml() -> None:
    """Models, online endpoints and their deployments."""


for group in (model, online_endpoint, online_deployment):
    ml.add_command(group)


@az.group(cls=AzGroup)
def account() -> None:
    """Stand-ins: there are no subscriptions here."""


@account.command()
@az_options
@output_option
def show(output: str) -> None:
    """Print a stand-in."""
    emit(STANDS_FOR, output, lambda: print_fields({"name": STANDS_FOR["name"]}))


@account.command("set")
@az_options
def set_() -> None:
    """Nothing to choose from."""


@az.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("rest", nargs=-1, type=click.UNPROCESSED)
def configure(rest: tuple[str, ...]) -> None:
    """Accepts --defaults and ignores them: an installation is one workspace."""
    del rest


@az.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("rest", nargs=-1, type=click.UNPROCESSED)
def extension(rest: tuple[str, ...]) -> None:
    """Accepts anything: `az ml` is built in."""
    if rest[:1] == ("show",):
        click.echo(json.dumps({"name": "ml", "version": "2.0.0"}))


def invoke(argv: Sequence[str]) -> Any:
    """Raises what click raises."""
    return az.main(args=list(argv), prog_name="az", standalone_mode=False)

"""The name ``az``: called so, the program takes ``az ml ...`` and prints JSON by default.

Only what scripts around ``az ml`` call besides is answered (``az_around``); all else is refused. No
file of that name is installed: put a link called ``az`` on PATH where it is wanted.
"""

import json
from collections.abc import Sequence
from typing import Any

import click

from shoal import __version__
from shoal.cli.az_around import AROUND, DEFAULTS, WORKSPACE, command_of, monitor
from shoal.cli.environment import environment
from shoal.cli.model import model
from shoal.cli.online_deployment import online_deployment
from shoal.cli.online_endpoint import online_endpoint
from shoal.cli.options import AzGroup
from shoal.cli.output import DEFAULT_FORM, emit, output_option, print_fields


@click.group(cls=AzGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shoal", message="%(prog)s %(version)s")
@click.pass_context
def az(context: click.Context) -> None:
    """Shoal under az's name: the `az ml` commands for models, environments and online endpoints."""
    context.meta[DEFAULT_FORM] = "json"


@az.group(cls=AzGroup)
def ml() -> None:
    """Models, environments, online endpoints and their deployments."""


for group in (model, environment, online_endpoint, online_deployment):
    ml.add_command(group)


for stand_in in AROUND:
    az.add_command(command_of(stand_in))
az.add_command(monitor)
ml.add_command(command_of(WORKSPACE))


@az.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("rest", nargs=-1, type=click.UNPROCESSED)
@click.option("--list-defaults", "-l", is_flag=True, help="Print what stands for them.")
@output_option
def configure(rest: tuple[str, ...], list_defaults: bool, output: str) -> None:
    """Accepts --defaults and ignores them: an installation is one workspace."""
    del rest
    if list_defaults:
        shown = {name: item["value"] for name, item in DEFAULTS.items()}
        emit(list(DEFAULTS.values()), output, lambda: print_fields(shown))


@az.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("rest", nargs=-1, type=click.UNPROCESSED)
def extension(rest: tuple[str, ...]) -> None:
    """Accepts anything: `az ml` is built in."""
    if rest[:1] == ("show",):
        click.echo(json.dumps({"name": "ml", "version": "2.0.0"}))


def invoke(argv: Sequence[str]) -> Any:
    """Raises what click raises."""
    return az.main(args=list(argv), prog_name="az", standalone_mode=False)

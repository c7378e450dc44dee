"""``shoal environment``: packages of scoring scripts, with the verbs of ``az ml environment``."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.archiving import add_archiving, archived_options, listed, version_option
from shoal.cli.options import (
    AzGroup,
    az_options,
    file_option,
    name_option,
    pairs,
    set_option,
    tags_option,
)
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment

_label_option = click.option("--label", "-l", help="latest.")
_SHOWN = 3


@click.group(cls=AzGroup, short_help="Environments, as in `az ml environment`.")
def environment() -> None:
    """Packages that scoring scripts run with, with the options of `az ml environment`.

    A deployment's file names one as `environment: azureml:NAME:VERSION`. A version never changes:
    the same packages registered again are the version that they were.
    """


@environment.command(short_help="Register an environment's packages.")
@name_option("Name; goes before the file's.")
@click.option("--version", "-v", help="A number; default: the next.")
@file_option("environment")
@click.option(
    "--conda-file",
    "-c",
    type=click.Path(exists=True, dir_okay=False),
    help="conda.yaml with the packages.",
)
@click.option("--image", "-i", help="Kept and given back; scripts run without one.")
@click.option("--description", "-d", help="What people should know about it.")
@tags_option
@set_option
@az_options
@output_option
def create(
    name: str | None,
    version: str | None,
    file: Path | None,
    conda_file: str | None,
    image: str | None,
    description: str | None,
    tags: tuple[str, ...],
    settings: tuple[str, ...],
    output: str,
) -> None:
    """Register the packages of a conda file; pip installs them on nodes, once for each list."""
    from shoal.cli.session import ml_client
    from shoal.entities import overrides, schemas
    from shoal.entities.loading import load_environment

    if file is None and conda_file is None:
        raise click.UsageError("Give --conda-file, or --file with a conda_file in it.")
    laid = overrides.settable(settings, schemas.ENVIRONMENT, {})
    laid |= {f"tags.{key}": value for key, value in pairs(tags, "--tags").items()}
    given = {
        "name": name,
        "version": version,
        "conda_file": str(Path(conda_file).resolve()) if conda_file else None,
        "image": image,
        "description": description,
    }
    laid |= {key: value for key, value in given.items() if value is not None}
    entity = load_environment(file or {}, params_override=[laid])
    with ml_client() as client:
        made = client.environments.create_or_update(entity)
    _emit(made, output)


@environment.command("list")
@name_option("All versions of this environment.")
@archived_options
@click.option("--max-results", "-r", type=click.IntRange(1), help="At most so many.")
@az_options
@output_option
def list_(
    name: str | None,
    include_archived: bool,
    archived_only: bool,
    max_results: int | None,
    output: str,
) -> None:
    """List environments, or with --name the versions of one."""
    from itertools import islice

    from shoal.cli.session import ml_client
    from shoal.sdk.shapes import as_shown

    view = listed(include_archived, archived_only)
    with ml_client() as client:
        found = client.environments.list(name, list_view_type=view)
        items = [as_shown(item) for item in islice(found, max_results)]
    columns = {
        "NAME": lambda item: item["name"],
        "VERSION": lambda item: item["version"],
        "PACKAGES": lambda item: _some(item["requirements"].splitlines()),
        "USED BY": lambda item: item["used_by"],
        "REGISTERED": lambda item: moment(item["created_at"]),
    }
    none = "No environments yet: shoal environment create --name NAME --conda-file conda.yaml"
    emit(items, output, lambda: print_rows(items, columns, none))


@environment.command()
@name_option("Name of the environment.", required=True)
@version_option
@_label_option
@az_options
@output_option
def show(name: str, version: str | None, label: str | None, output: str) -> None:
    """Show one version of an environment. Default: the latest."""
    from shoal.cli.session import ml_client

    with ml_client() as client:
        _emit(client.environments.get(name, version, label), output)


add_archiving(
    environment,
    hides="Hide an environment, or one version, from lists. What was made with it runs on.",
    options=(version_option, _label_option),
)


def _some(packages: list[str]) -> str:
    """As many as a column shows."""
    return ", ".join(packages[:_SHOWN]) + (", ..." if len(packages) > _SHOWN else "")


def _emit(entity: Any, output: str) -> None:
    from shoal.sdk.shapes import as_shown

    emit(as_shown(entity), output, lambda: _print(entity.shown))


def _print(item: Any) -> None:
    print_fields(
        {
            "Environment": f"{item['name']} version {item['version']}",
            "Named": f"azureml:{item['name']}:{item['version']}",
            "Description": item["description"],
            "Registered": f"{moment(item['created_at'])} by {item['created_by']}",
            "Used by": item["used_by"],
            "Archived": "yes" if item["archived"] else None,
        }
    )
    click.echo()
    click.echo(item["requirements"].rstrip("\n") or "no packages beyond the runtime's")

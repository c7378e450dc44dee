"""``shoal model``: registered models, with the verbs and options of ``az ml model``."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.archiving import add_archiving, archived_options, listed, version_option
from shoal.cli.lineage import lineage_given, lineage_options
from shoal.cli.options import (
    AzGroup,
    az_options,
    file_option,
    name_option,
    pairs,
    set_option,
    tags_option,
)
from shoal.cli.other_tensors import other_tensors_option, registered
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.signing import sign, signature
from shoal.cli.try_load import try_load
from shoal.display.units import byte_count, moment

_label_option = click.option("--label", "-l", help="latest, or an alias.")
_registry_option = click.option(
    "--registry-name",
    hidden=True,
    expose_value=False,
    callback=lambda _, __, value: _no_registry(value),
)
_positional = click.argument("positional", metavar="[NAME]", required=False)


def _no_registry(value: str | None) -> None:
    if value is not None:
        raise click.UsageError("--registry-name: this installation is its own registry.")


@click.group(cls=AzGroup, short_help="Registered models, as in `az ml model`.")
def model() -> None:
    """Registered models, with the options of `az ml model`.

    A version never changes: the same content registered again is the version that it was.
    """


@model.command()
@name_option("Name; goes before the file's.")
@click.option("--version", "-v", help="A number; default: the next.")
@click.option("--path", "-p", help="File, folder or archive to register, or an address.")
@click.option("--type", "-t", "kind", help="triton_model or custom_model; both are served.")
@file_option("model")
@click.option("--description", "-d", help="What people should know about it.")
@click.option("--stage", "-s", help="Kept, without effect.")
@tags_option
@other_tensors_option
@lineage_options
@set_option
@_registry_option
@az_options
@output_option
def create(
    name: str | None,
    version: str | None,
    path: str | None,
    kind: str | None,
    file: Path | None,
    description: str | None,
    stage: str | None,
    tags: tuple[str, ...],
    allow_other_tensors: bool,
    settings: tuple[str, ...],
    output: str,
    **origin: str | None,
) -> None:
    """Register a model from files or an address.

    What the installation has already is not sent again. Of an address the server fetches the model
    itself, and the version keeps where it is from: https://host/model.onnx,
    hf://owner/name@revision/path, s3://bucket/path, runs:/RUN_ID/path of MLflow. What it does not
    tell can be stated, as of files: --source, --run, --run-url, --commit and --dataset, or a block
    `lineage` of the file.

    A name that is a model's with other inputs and outputs may be somebody else's: on a terminal you
    are asked, elsewhere it is refused without --allow-other-tensors.
    """
    from shoal.cli.session import ml_client
    from shoal.entities import Model, overrides, schemas
    from shoal.entities.loading import REMOTE, load_model

    if file is None and path is None:
        raise click.UsageError("Give --path, or --file with a path in it.")
    laid = overrides.settable(settings, schemas.MODEL, schemas.SHOWN_OF_MODEL)
    laid |= {f"tags.{key}": value for key, value in pairs(tags, "--tags").items()}
    laid |= {f"lineage.{key}": value for key, value in lineage_given(**origin).items()}
    given = {
        "name": name,
        "version": version,
        "type": kind,
        "description": description,
        "stage": stage,
        "path": str(Path(path).resolve()) if path and not REMOTE.match(path) else path,
    }
    laid |= {key: value for key, value in given.items() if value is not None}
    entity = load_model(file or {}, params_override=[laid])

    def register(same_tensors: bool) -> Model:
        with ml_client() as client:
            return client.models.create_or_update(entity, same_tensors=same_tensors)

    _emit(registered(register, allowed=allow_other_tensors), output)


@model.command("list")
@name_option("All versions of this model.")
@click.option("-q", "--contains", help="Only names that contain this.")
@archived_options
@click.option("--stage", "-s", help="Only those of this stage.")
@click.option("--max-results", "-r", type=click.IntRange(1), help="At most so many.")
@_registry_option
@az_options
@output_option
def list_(
    name: str | None,
    contains: str | None,
    include_archived: bool,
    archived_only: bool,
    stage: str | None,
    max_results: int | None,
    output: str,
) -> None:
    """List models, or with --name the versions of one."""
    from shoal.cli.session import ml_client
    from shoal.sdk.shapes import as_shown

    view = listed(include_archived, archived_only)
    with ml_client() as client:
        found = client.models.list(name, stage, list_view_type=view)
        items = [as_shown(item) for item in found if not contains or contains in str(item.name)]
    items = items[:max_results]
    columns = {
        "NAME": lambda item: item["name"],
        "VERSION": lambda item: item["version"],
        "SIZE": lambda item: byte_count(item["size"]) if item.get("size") else None,
        "USED BY": lambda item: item.get("used_by"),
        "REGISTERED": lambda item: moment(item["creation_context"]["created_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No models yet: shoal deploy PATH"))


@model.command()
@_positional
@name_option("Name of the model.")
@version_option
@_label_option
@_registry_option
@az_options
@output_option
def show(
    positional: str | None, name: str | None, version: str | None, label: str | None, output: str
) -> None:
    """Show one version of a model: its files, inputs and outputs. Default: the latest."""
    from shoal.cli.session import ml_client

    if version is not None and version != "latest" and not version.isdecimal():
        raise click.BadParameter("expected a number", param_hint="--version")
    with ml_client() as client:
        _emit(client.models.get(_one(positional, name), version, label), output)


@model.command(short_help="Change a version's description and tags.")
@name_option("Name of the model.", required=True)
@version_option
@_label_option
@set_option
@_registry_option
@az_options
@output_option
def update(
    name: str, version: str | None, label: str | None, settings: tuple[str, ...], output: str
) -> None:
    """Change a version's description, tags, properties and lineage. Never its content."""
    from shoal.cli.session import ml_client
    from shoal.entities import overrides, schemas
    from shoal.entities.loading import load_model

    if not settings:
        raise click.UsageError("Give --set KEY=VALUE.")
    with ml_client() as client:
        values = client.models.get(name, version, label)._to_dict()
        content = {key: values.get(key) for key in ("name", "version", "path", "type")}
        fixed = {**schemas.SHOWN_OF_MODEL, **content}
        if values.get("lineage"):  # why: two names of one value, of which lineage.run is set
            fixed["job_name"] = values.get("job_name")
        laid = overrides.settable(settings, schemas.MODEL, fixed)
        entity = load_model(values, params_override=[laid])
        entity.path = None
        made = client.models.create_or_update(entity)
    _emit(made, output)


add_archiving(
    model,
    hides="Hide a model, or one version, from lists and new deployments. What runs goes on.",
    options=(version_option, _label_option, _registry_option),
)


@model.command(short_help="Let the code in a version run.")
@name_option("Name of the model.", required=True)
@click.option(
    # why required: the newest may have come after somebody looked
    "--version",
    "-v",
    required=True,
    help="The one that you looked at: a number, or an alias.",
)
@click.option(
    "--config-revision",
    type=click.IntRange(0),
    help="The newest edit that you looked at: later ones wait on. Default: all of them.",
)
@click.option("--withdraw", is_flag=True, help="Take the approval back; what runs runs on.")
@az_options
@output_option
def approve(
    name: str, version: str, config_revision: int | None, withdraw: bool, output: str
) -> None:
    """Let the code in a version run: Python, machine code, pickles. Needs the role admin.

    What is approved are these files, under whatever name they are registered again.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        if withdraw:
            shown = client.disapprove_model_version(name, version)
        else:
            shown = client.approve_model_version(name, version, config_revision)
    emit(shown["code"], output, lambda: _print_code(shown["code"]))
    note(f"Model {name} version {shown['version']} {_APPROVAL[shown['code']['state']]}")


_APPROVAL = {
    "none": "brings no code: it needs no approval",
    "allowed": "may run",
    "waiting": "starts nowhere until it is approved again",
    "refused": "starts nowhere: this installation takes no models with code",
}


@model.command(short_help="Fetch a version's files.")
@name_option("Name of the model.", required=True)
@click.option("--version", "-v", required=True, help="A number, or latest.")
@click.option(
    "--download-path",
    "-p",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    show_default="here",
    help="Folder that gets a folder with the model's name.",
)
@_registry_option
@az_options
@output_option
def download(name: str, version: str, download_path: Path, output: str) -> None:
    """Fetch a version's files; those that are there already are not fetched again."""
    from shoal.cli.report import note
    from shoal.cli.session import ml_client

    del output
    with ml_client() as client:
        client.models.download(name, version, download_path)
    note(f"Model {name} version {version} is in {download_path / name}")


def _unsupported(name: str, why: str) -> click.Command:
    def refuse(**_: Any) -> None:
        raise click.UsageError(why)

    return click.Command(
        name,
        callback=refuse,
        hidden=True,
        params=[click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED, expose_value=False)],
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        help=why,
    )


model.add_command(
    _unsupported("package", "Models need no package here: they are served as registered.")
)
model.add_command(
    _unsupported(
        "share", "There is one registry here; other installations register for themselves."
    )
)


def _one(positional: str | None, name: str | None) -> str:
    if positional is None and name is None:
        raise click.UsageError("Give the model's name.")
    return str(name or positional)


def _emit(entity: Any, output: str) -> None:
    from shoal.sdk.shapes import as_shown

    emit(as_shown(entity), output, lambda: _print(entity.shown))


def _print_code(code: Any) -> None:
    for reason in code["reasons"]:
        click.echo(f"  {reason['message']}")


def _code_text(code: Any) -> str | None:
    if not code or code["state"] == "none":
        return None
    states = {"allowed": "allowed", "waiting": "waits for approval", "refused": "refused here"}
    why = "; ".join(reason["message"] for reason in code["reasons"])
    by = f" by {code['approved_by']}" if code["approved_by"] else ""
    return f"{states[code['state']]}{by}: {why}"


_LINEAGE = {
    "revision": "Revision",
    "commit": "Commit",
    "repository": "Repository",
    "run": "Run",
    "run_url": "Run's page",
    "experiment": "Experiment",
    "dataset": "Dataset",
    "etag": "Etag",
}


def _lineage(lineage: Any) -> dict[str, Any]:
    """What there is of where it comes from, and who says so."""
    if not lineage:
        return {}
    imported = lineage["kind"] != "stated"
    told: dict[str, Any] = {"Imported from" if imported else "Source": lineage["address"] or None}
    told |= {words: lineage.get(name) or None for name, words in _LINEAGE.items()}
    if imported:
        told["Imported"] = f"{moment(lineage['at'])} by {lineage['by']}"
    if stated := lineage.get("stated"):
        who = f"{moment(lineage['stated_at'])} by {lineage['stated_by']}"
        told["Stated"] = f"{', '.join(stated)}: {who}" if imported else who
    return told


def _print(item: Any) -> None:
    print_fields(
        {
            "Model": f"{item['model']} version {item['version']}",
            "Description": item.get("description"),
            "From": item.get("source_filename"),
            **_lineage(item.get("lineage")),
            "Size": f"{byte_count(item['size'])} in {len(item.get('manifest', []))} files",
            "Digest": item["digest"],
            "Registered": f"{moment(item.get('created_at'))} by {item.get('created_by')}",
            "Runs code": _code_text(item.get("code")),
            "Used by": item.get("used_by"),
        }
    )
    for repo_model in item["repo_models"]:
        if "inputs" not in repo_model:
            continue
        click.echo()
        backend, batch = repo_model["backend"], repo_model["max_batch_size"]
        click.echo(f"{repo_model['name']}  {backend}, max_batch_size {batch}")
        rows = [("input", tensor) for tensor in repo_model["inputs"]]
        rows += [("output", tensor) for tensor in repo_model["outputs"]]
        columns = {
            "TENSOR": lambda row: f"  {row[1]['name']}",
            "": lambda row: row[0],
            "TYPE": lambda row: row[1]["datatype"],
            "SHAPE": lambda row: " × ".join(str(axis) for axis in row[1]["shape"]),
        }
        print_rows(rows, columns, "  no tensors")


for command in (sign, signature, try_load):
    model.add_command(command)

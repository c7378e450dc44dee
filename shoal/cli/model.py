"""``shoal model``: registered models and their immutable versions."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.units import byte_count, moment


@click.group()
def model() -> None:
    """List and show registered models."""


@model.command("list")
@click.option("-q", "--query", help="Only names that contain this.")
@output_option
def list_(query: str | None, output: str) -> None:
    """List models."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_models(q=query)
    columns = {
        "NAME": lambda item: item["name"],
        "LATEST": lambda item: item["latest_version"],
        "SIZE": lambda item: byte_count(item["latest"]["size"]) if item["latest"] else None,
        "USED BY": lambda item: item["used_by"],
        "UPDATED": lambda item: moment(item["updated_at"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No models yet: shoal deploy PATH"))


@model.command()
@click.argument("name")
@click.option("--version", "-v", default="latest", show_default=True, help="A number, or latest.")
@output_option
def show(name: str, version: str, output: str) -> None:
    """Show one version of a model: its files, inputs and outputs."""
    from shoal.client import Client

    if version != "latest" and not version.isdecimal():
        raise click.BadParameter("expected a number or latest", param_hint="--version")
    with Client() as client:
        item = client.get_model_version(name, version)
    emit(item, output, lambda: _print(item))


def _print(item: Any) -> None:
    print_fields(
        {
            "Model": f"{item['model']} version {item['version']}",
            "From": item["source_filename"],
            "Size": f"{byte_count(item['size'])} in {len(item['manifest'])} files",
            "Digest": item["digest"],
            "Registered": f"{moment(item['created_at'])} by {item['created_by']}",
            "Used by": item["used_by"],
        }
    )
    for repo_model in item["repo_models"]:
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

"""``shoal instance-type``: what one replica can be given."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import byte_count


@click.group("instance-type", short_help="What a replica can be given, and by which nodes.")
def instance_type() -> None:
    """What deployments may name as instance_type, and which nodes would take it."""


@instance_type.command("list")
@output_option
def list_(output: str) -> None:
    """List instance types."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_instance_types()
    columns = {
        "NAME": lambda item: item["name"],
        "GPUS": _gpus,
        "NODES": lambda item: ", ".join(item["nodes"]) or "none",
        "USED BY": lambda item: str(item["used_by"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No instance types"))


@instance_type.command()
@click.argument("name")
@output_option
def show(name: str, output: str) -> None:
    """Show one, by its name or an alias (such as Standard_NC6s_v3)."""
    from shoal.client import Client

    with Client() as client:
        item = client.get_instance_type(name)
    fields = {
        "Name": item["name"],
        "Description": item["description"],
        "GPUs": _gpus(item),
        "Processors": str(item["cpu_count"] or "any"),
        "Memory": byte_count(item["memory_bytes"]) if item["memory_bytes"] else "any",
        "Nodes": ", ".join(item["nodes"]) or "none",
        "Aliases": ", ".join(item["aliases"]),
    }
    emit(item, output, lambda: print_fields(fields))


def _gpus(item: Any) -> str:
    if not item["gpu_count"]:
        return "none"
    model = f" {item['gpu_model']}" if item["gpu_model"] else ""
    return f"{item['gpu_count']}{model} ({item['gpu_policy']})"

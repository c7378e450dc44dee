"""``shoal node``: the machines that run replicas."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.hints import as_commands
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import byte_count, duration

if TYPE_CHECKING:
    from shoal.client.types import Node


@click.group(short_help="List, add, label, cordon, drain and remove nodes.")
def node() -> None:
    """The machines that run replicas: list, add, label, cordon, drain, remove."""


@node.command("list")
@output_option
def list_(output: str) -> None:
    """List nodes and how fresh their last report is."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_nodes()
    columns = {
        "NAME": lambda item: item["name"],
        "STATE": _state,
        "REPLICAS": lambda item: str(len(item["replicas"])),
        "LAST REPORT": lambda item: (
            None if item["age_s"] is None else f"{duration(item['age_s'])} ago"
        ),
    }
    emit(items, output, lambda: print_rows(items, columns, "No node has joined"))


@node.command(short_help="Make a token that lets one machine join.")
@output_option
def join(output: str) -> None:
    """Make a token that lets one machine join, and the command to run there.

    The token works once, within the hour. Needs the role operator.
    """
    from shoal.client import Client

    with Client() as client:
        made = client.create_join_token()
    emit(made, output, lambda: print_fields({"Run there": made["command"]}))


@node.command()
@click.argument("name")
@output_option
def show(name: str, output: str) -> None:
    """Show a node: what it has, what runs there, its labels."""
    from shoal.client import Client

    with Client() as client:
        item = client.get_node(name)
    emit(item, output, lambda: _print(item))


def _print(item: "Node") -> None:
    print_fields(_fields(item))
    for line in _trouble(item):
        click.echo(f"! {line}")


def _sandbox(info: Mapping[str, Any]) -> str:
    sandbox = info.get("sandbox") or {}
    kept = ", ".join(name for name, holds in sandbox.items() if holds) or "none"
    missing = ", ".join(name for name, holds in sandbox.items() if not holds)
    return f"{kept}; not here: {missing}" if missing else kept


def _fields(item: "Node") -> dict[str, object]:
    info = item["info"]
    gpus = [
        f"{gpu['name']} ({byte_count(gpu['memory_total_bytes'])})" for gpu in info.get("gpus", [])
    ]
    memory, disk = byte_count(info["memory_total_bytes"]), byte_count(info["disk_total_bytes"])
    return {
        "Node": item["name"],
        "Is": _state(item),
        "Address": info.get("address"),
        "Agent": info.get("agent_version"),
        "Labels": _labels_text(item["labels"]),
        "GPUs": ", ".join(gpus) or "none",
        "Memory": f"{byte_count(info['memory_used_bytes'])} used of {memory}",
        "Disk": f"{byte_count(info['disk_free_bytes'])} free of {disk}",
        "Cache": _cache(info),
        "Sandbox": _sandbox(info),
        "Replicas": ", ".join(
            f"{row['endpoint']}/{row['deployment']}#{row['ordinal']} {row['state']}"
            for row in item["replicas"]
        )
        or "none",
    }


def _cache(info: Mapping[str, Any]) -> str:
    """How full it is, and the agent's settings that concern it."""
    parts = [byte_count(info.get("cache_bytes", 0))]
    if quota := info.get("cache_quota_bytes", 0):
        parts[0] += f" of {byte_count(quota)}"
    if limit := info.get("download_limit_bytes_per_s", 0):
        parts.append(f"downloads at most {byte_count(limit)}/s")
    if checked := info.get("cache_checked_at", 0.0):
        parts.append(f"hashed again {duration(max(0.0, time.time() - checked))} ago")
    return ", ".join(parts)


def _trouble(item: "Node") -> Iterator[str]:
    """What is odd about the node, and why replicas there do not run."""
    for condition in item.get("conditions", []):
        yield f"{condition['code']}: {condition['message']}"
    for row in item["replicas"]:
        if error := row.get("error"):
            where = f"{row['endpoint']}/{row['deployment']}#{row['ordinal']}"
            hints = " ".join(as_commands(error.get("hints")))
            yield f"{where}: {error['code']}: {error['message']} {hints}".rstrip()


def _state(item: "Node") -> str:
    return item["state"] + (", cordoned" if item["cordoned"] else "")


def _labels_text(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "none"


@node.command(short_help="Set and take away labels.")
@click.argument("name")
@click.argument("labels", nargs=-1, required=True, metavar="KEY=VALUE|KEY-...")
@output_option
def label(name: str, labels: tuple[str, ...], output: str) -> None:
    """Set labels of a node, which deployments can ask for. KEY- takes one away."""
    from shoal.client import Client

    changes = dict(_change(text) for text in labels)
    with Client() as client:
        kept = {**client.get_node(name)["labels"], **changes}
        wanted = {key: value for key, value in kept.items() if value is not None}
        item = client.set_labels(name, wanted)
    shown = {"Node": item["name"], "Labels": _labels_text(item["labels"])}
    emit(item, output, lambda: print_fields(shown))


def _change(text: str) -> tuple[str, str | None]:
    key, separator, value = text.partition("=")
    if separator and key:
        return key, value
    if not separator and text.endswith("-") and text != "-":
        return text.removesuffix("-"), None
    raise click.BadParameter(f"{text!r}: expected KEY=VALUE, or KEY- to take it away")


@node.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@output_option
def cordon(names: tuple[str, ...], output: str) -> None:
    """Put nothing new on these nodes; what runs there goes on."""
    _set_cordoned(names, output, cordoned=True)


@node.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@output_option
def uncordon(names: tuple[str, ...], output: str) -> None:
    """Let nodes take replicas again; ends a drain."""
    _set_cordoned(names, output, cordoned=False)


@node.command(short_help="Empty nodes: what runs there answers elsewhere first.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--dry-run", is_flag=True, help="Only say which replica would go where.")
@click.option("--force", is_flag=True, help="Even if something has nowhere to go.")
@click.option("--deadline", type=click.IntRange(1), default=600, show_default=True, help="Seconds.")
@output_option
def drain(names: tuple[str, ...], dry_run: bool, force: bool, deadline: int, output: str) -> None:
    """Empty nodes: what runs there answers elsewhere before it goes. Cordons them too.

    Several are drained together, all or none: what leaves one goes to none of the others.
    """
    from shoal.client import Client

    with Client() as client:
        answer = client.drain_nodes(names, dry_run=dry_run, force=force, deadline_s=deadline)
    columns = {
        "NODE": lambda item: item["node"],
        "REPLICA": lambda item: f"{item['endpoint']}/{item['deployment']}#{item['ordinal']}",
        "TRAFFIC": lambda item: f"{item['traffic']} %",
        "TO": lambda item: item["to"] or item["why_not"],
        "WAITS FOR": lambda item: item["waits_for"] or None,
    }
    nothing = f"Nothing runs on {', '.join(names)}."
    emit(answer["moves"], output, lambda: print_rows(answer["moves"], columns, nothing))


@node.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Even if replicas run there: they end with it.")
def remove(name: str, force: bool) -> None:
    """Forget a node; its credential stops working. Drain it first."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.remove_node(name, force=force)
    note(f"Node {name} is removed")


def _set_cordoned(names: tuple[str, ...], output: str, *, cordoned: bool) -> None:
    from shoal.client import Client

    with Client() as client:
        items = [client.set_cordoned(name, cordoned=cordoned) for name in names]
    columns = {
        "NODE": lambda item: item["name"],
        "IS": lambda item: "cordoned" if item["cordoned"] else "taking replicas",
    }
    # why one bare: as before several could be named
    value = items[0] if len(items) == 1 else items
    emit(value, output, lambda: print_rows(items, columns, ""))

"""``shoal endpoint``: what answers, where, and with which keys."""

import sys
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.traffic_change import traffic_change_lines


@click.group()
def endpoint() -> None:
    """List, show and delete endpoints; get their keys."""


@endpoint.command("list")
@click.option("-q", "--contains", help="Only those whose name, description or models contain this.")
@output_option
def list_(contains: str | None, output: str) -> None:
    """List endpoints."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_endpoints(q=contains)
    columns = {
        "NAME": lambda item: item["name"],
        "STATE": lambda item: item["serving_state"],
        "TRAFFIC": lambda item: _traffic(item),
        "MODELS": lambda item: [f"{m['name']}:{m['version']}" for m in item["models"]],
        "SCORING URI": lambda item: item["scoring_uri"],
    }
    emit(items, output, lambda: print_rows(items, columns, "No endpoints yet: shoal deploy PATH"))


@endpoint.command()
@click.argument("name")
@output_option
def show(name: str, output: str) -> None:
    """Show one endpoint with its deployments and replicas.

    For an hour after its traffic was changed, also how those do who got more of it.
    """
    from shoal.client import Client

    watch = None
    with Client() as client:
        item = client.get_endpoint(name)
        if item.get("traffic_change"):
            watch = client.get_traffic_watch(name)
    emit({**item, "traffic_watch": watch}, output, lambda: _print(item, watch))


@endpoint.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask. Implied without a terminal.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Follow it to its end.")
@click.option("--timeout", type=click.FloatRange(min=1), default=300, show_default=True)
@output_option
def delete(name: str, yes: bool, wait: bool, timeout: float, output: str) -> None:
    """Delete an endpoint, its deployments and its keys. The models stay registered."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        item = client.get_endpoint(name)
        if not yes and sys.stdin.isatty():
            serving = f" It has traffic: {_traffic(item)}." if any(item["traffic"].values()) else ""
            click.confirm(f"Delete endpoint {name}?{serving}", abort=True, err=True)
        operation = client.delete_endpoint(name)
        if wait:
            operation = client.wait_operation(operation, timeout_s=timeout)
    emit(
        operation,
        output,
        lambda: note(f"Endpoint {name} {_gone(operation) if wait else 'is being deleted'}"),
    )


@endpoint.command("get-credentials")
@click.argument("name")
@output_option
def get_credentials(name: str, output: str) -> None:
    """Print the endpoint's two keys; reading them is recorded."""
    from shoal.client import Client

    with Client() as client:
        keys = client.get_keys(name)
    fields = {"primaryKey": keys["primaryKey"], "secondaryKey": keys["secondaryKey"]}
    emit(fields, output, lambda: print_fields(fields))


def _gone(operation: Any) -> str:
    """With who has confirmed it: a gateway that is silent may go on taking its keys."""
    routed = next((row["detail"] for row in operation["stages"] if row["name"] == "route"), "")
    return f"is deleted ({routed})" if routed else "is deleted"


def _traffic(item: Any) -> str:
    return ", ".join(f"{slot} {percent} %" for slot, percent in item["traffic"].items() if percent)


def _print(item: Any, watch: Any) -> None:
    print_fields(
        {
            "Name": item["name"],
            "Description": item["description"],
            "State": f"{item['serving_state']} ({item['provisioning_state']})",
            "Traffic": _traffic(item) or "none",
            "HTTP": item["scoring_uri"],
            "HTTP, this machine": item["plain_uri"],
            "gRPC": item["grpc_target"],
            "CA": item["ca_path"],
            "Call it as": [name for model in item["models"] for name in model["repo_models"]],
        }
    )
    for row in item["deployments"]:
        if blocked := (row.get("autoscaling") or {}).get("blocked"):
            click.echo(f"! {row['name']} is not autoscaled as it should be: {blocked}")
    if item.get("unconfirmed"):
        from shoal.sdk.endpoints import unconfirmed_text

        click.echo(f"! The newest traffic and keys are {unconfirmed_text(item)}.")
    if watch and watch["change"]:
        click.echo()
        for line in traffic_change_lines(watch):
            click.echo(line)
    click.echo()
    columns = {
        "DEPLOYMENT": lambda row: row["name"],
        "STATE": lambda row: f"{row['serving_state']} ({row['provisioning_state']})",
        "MODEL": lambda row: f"{row['model']}:{row['version']}",
        "TRAFFIC": lambda row: f"{row['traffic']} %",
        "REPLICAS": lambda row: [
            " ".join(
                (replica["node"], replica["state"], replica.get("runtime_version") or "")
            ).rstrip()
            for replica in row["replicas"]
        ],
        "ERROR": lambda row: (row["error"] or {}).get("message"),
    }
    print_rows(item["deployments"], columns, "No deployments")

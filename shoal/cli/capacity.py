"""``shoal capacity``: what runs where, what is idle, and what a lost node would do."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import byte_count, significant

if TYPE_CHECKING:
    from shoal.client import Client

REFUSED = 403  # who has a role in some projects alone sees no nodes


@click.command(short_help="What runs where, what is idle, what a lost node would do.")
@click.option(
    "--lost",
    multiple=True,
    metavar="NODE",
    help="What would happen if this node were lost; several times: all of them at once.",
)
@click.option(
    "--more",
    metavar="ENDPOINT/DEPLOYMENT",
    help="How many more replicas of this deployment would fit now.",
)
@output_option
def capacity(lost: tuple[str, ...], more: str | None, output: str) -> None:
    """Show what nodes have and what of it is idle, the headroom of deployments, their cost, waste.

    \b
      shoal capacity
      shoal capacity --lost gpu-1 --lost gpu-2
      shoal capacity --more digits/blue

    Headroom is how many times its busiest hour of the last day a deployment could carry, by what
    was measured of it. Costs are there once prices are set: shoal prices set.
    """
    from shoal.client import Client

    if lost and more:
        raise click.UsageError("Give --lost or --more, not both.")
    with Client() as client:
        if lost:
            found = client.what_if_lost(lost)
            emit(found, output, lambda: _print_loss(found))
        elif more:
            endpoint, _, deployment = more.partition("/")
            if not endpoint or not deployment:
                raise click.UsageError(f"--more: {more!r}, expected ENDPOINT/DEPLOYMENT.")
            room = client.get_room(endpoint, deployment)
            emit(room, output, lambda: _print_room(more, room))
        else:
            told = _told(client)
            emit(told, output, lambda: _print(told))


def _told(client: "Client") -> dict[str, Any]:
    from shoal.client import Problem

    found: dict[str, Any] = {**client.get_capacity()}
    try:
        found["node_list"] = client.list_capacity_nodes()
    except Problem as problem:
        if problem.status != REFUSED:
            raise
        found["node_list"] = None
    found["deployments"] = client.list_capacity_deployments()
    found["waste"] = client.list_waste()
    return found


def _print(told: Mapping[str, Any]) -> None:
    currency = told["currency"]
    _print_total(told)
    if told["node_list"] is not None:
        click.echo()
        print_rows(told["node_list"], _node_columns(), "No node has joined")
    click.echo()
    print_rows(told["deployments"], _deployment_columns(currency), "No deployments")
    if told["priced"]:
        click.echo()
        print_rows(told["projects"], _project_columns(currency), "No projects")
    else:
        click.echo("\nNo prices are set, so no costs are shown: shoal prices set --help")
    for number, item in enumerate(told["waste"], start=1):
        click.echo(f"\n{number}. {item['title']}\n   {item['text']}\n   → {item['change']}")


def _print_total(told: Mapping[str, Any]) -> None:
    use = told["totals"]
    parts = [
        f"{significant(use['processors']['idle'])} of {use['processors']['total']:.0f} processors",
        f"{byte_count(use['memory']['idle'])} of {byte_count(use['memory']['total'])} of memory",
    ]
    if use["gpus"]["total"]:
        parts.append(f"{use['gpus']['idle']:.1f} of {use['gpus']['total']:.0f} GPUs")
    idle = ", ".join(parts)
    click.echo(f"{told['nodes_online']} of {told['nodes']} node(s) online; idle are {idle}")


def _node_columns() -> dict[str, Callable[[Any], object]]:
    return {
        "NODE": lambda item: item["name"] + ("" if item["online"] else " (not heard of)"),
        "REPLICAS": lambda item: str(item["replicas"]),
        "IDLE": lambda item: f"{100 * item['idle']:.0f} %",
        "PROCESSORS": lambda item: _amount(item["processors"], significant),
        "MEMORY": lambda item: _amount(item["memory"], byte_count),
        "GPUS": lambda item: _amount(item["gpus"], significant),
        "GPU MEMORY": lambda item: _amount(item["gpu_memory"], byte_count),
    }


def _amount(amount: Mapping[str, float], text: Callable[[float], str]) -> str | None:
    if not amount["total"]:
        return None
    return (
        f"{text(amount['used'])} used, {text(amount['promised'])} promised of "
        f"{text(amount['total'])}"
    )


def _deployment_columns(currency: str) -> dict[str, Callable[[Any], object]]:
    return {
        "DEPLOYMENT": lambda item: f"{item['endpoint']}/{item['deployment']}",
        "REPLICAS": lambda item: str(item["replicas"]),
        "BUSIEST HOUR": lambda item: _rate(item["measured"]),
        "HEADROOM": lambda item: _headroom(item["headroom"]),
        "BECAUSE": lambda item: item["headroom"]["because"],
        "PER HOUR": lambda item: _per_hour(item["cost"], currency),
        "PER 1,000 REQUESTS": lambda item: _money(item["cost"]["per_1000_requests"], currency),
    }


def _per_hour(cost: Mapping[str, Any], currency: str) -> str | None:
    text = _money(cost["per_hour"], currency)
    return f"{text}, {cost['unpriced']} without a price" if text and cost["unpriced"] else text


def _rate(measured: Mapping[str, Any] | None) -> str | None:
    rate = measured and measured["request_rate"]
    return f"{significant(rate)}/s" if rate else None


def _headroom(found: Mapping[str, Any]) -> str:
    if found["times"] is None:
        return "not known"
    return f"{significant(found['times'])} × ({found['limit']})"


def _project_columns(currency: str) -> dict[str, Callable[[Any], object]]:
    return {
        "PROJECT": lambda item: item["project"],
        "REPLICAS": lambda item: str(item["replicas"]),
        "GPUS": lambda item: str(item["gpus"]),
        "PER HOUR": lambda item: _money(item["per_hour"], currency),
        "PER DAY": lambda item: _money(item["per_day"], currency),
        "WITHOUT A PRICE": lambda item: (
            f"{item['unpriced']} replica(s)" if item["unpriced"] else ""
        ),
    }


def _money(amount: float | None, currency: str) -> str | None:
    if amount is None:
        return None
    text = f"{amount:,.2f}" if amount >= 0.1 or not amount else f"{amount:.3g}"  # 1,000 requests
    return f"{text} {currency}".rstrip()


def _print_loss(found: Mapping[str, Any]) -> None:
    names = ", ".join(found["lost"])
    if not found["replicas"]:
        click.echo(f"Nothing runs on {names}.")
        return
    columns = {
        "REPLICA": lambda item: f"{item['endpoint']}/{item['deployment']}#{item['ordinal']}",
        "FROM": lambda item: item["node"],
        "TO": lambda item: item["to"] or "no place",
    }
    print_rows(found["replicas"], columns, "")
    click.echo()
    for one in found["deployments"]:
        title = f"{one['endpoint']}/{one['deployment']}"
        left = f"{one['ready_left']} of {one['replicas']} replica(s) go on answering"
        click.echo(f"{title}: {left}, {one['placed']} of {one['lost']} lost find a place.")
        for why in one["reasons"]:
            click.echo(f"  {why['nodes']} node(s): {why['reason']}")
        if one["placed"] < one["lost"] and not one["reasons"]:
            click.echo("  There is no other node.")
    for one in found["endpoints"]:
        back = (
            "until replicas have started elsewhere"
            if one["comes_back"]
            else "until there is a place for them"
        )
        click.echo(f"! {one['endpoint']}: {one['traffic_lost']} % of its traffic fails {back}.")


def _print_room(title: str, room: Mapping[str, Any]) -> None:
    count = f"At least {room['more']}" if room["at_least"] else str(room["more"])
    click.echo(f"{count} more replica(s) of {title} would find a place now.")
    if room["note"]:
        click.echo(room["note"])
    columns = {
        "NODE": lambda item: item["node"],
        "REPLICAS": lambda item: str(item["replicas"]),
    }
    if room["nodes"]:
        print_rows(room["nodes"], columns, "")
    for why in room["reasons"]:
        click.echo(f"{why['nodes']} node(s): {why['reason']}")

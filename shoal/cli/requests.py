"""``shoal requests``: single requests of an endpoint, where they went and what they took."""

from datetime import UTC, datetime
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import byte_count, duration
from shoal.display.waterfall import lines

KEPT_S = 21_600
SHORT = 8  # characters of an id in a list


@click.command(short_help="Look at single requests: failed, slow, or any.")
@click.argument("endpoint")
@click.option(
    "--id", "request_id", help="x-request-id, or how it begins; draws where the time went of one."
)
@click.option("--failed", is_flag=True, help="Only answers of 4xx and 5xx.")
@click.option("--slow", is_flag=True, help="The slowest first.")
@click.option("--min-ms", type=click.FloatRange(0), help="Only those that took so long at least.")
@click.option("--deployment", "-d", help="Only what this one answered.")
@click.option(
    "--range",
    "range_s",
    type=click.IntRange(1, 21_600),
    metavar="SECONDS",
    help="The last so many seconds: 3600, or all that are kept where an id is looked for.",
)
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True)
@output_option
def requests(
    endpoint: str,
    request_id: str | None,
    failed: bool,
    slow: bool,
    min_ms: float | None,
    deployment: str | None,
    range_s: int | None,
    limit: int,
    output: str,
) -> None:
    """Look at single requests of an endpoint.

    Gateways tell of a few: every two seconds three that failed, three that were refused, the three
    slowest and three of all others. With `--id` of one of them, where its time went: at the
    gateway, and in the replica, as far as that kept it.
    """
    from shoal.client import Client

    with Client() as client:
        items = client.list_requests(
            endpoint,
            deployment=deployment,
            status="failed" if failed else None,
            min_ms=min_ms,
            request_id=request_id,
            order="slowest" if slow else None,
            range_s=range_s or (KEPT_S if request_id else None),
            limit=limit,
        )
        if request_id and (one := _the_one(items, request_id)) is not None:
            stories = client.get_request(endpoint, one)
            emit(stories, output, lambda: _print_all(stories))
            return
    emit(items, output, lambda: print_rows(items, COLUMNS, "No request was seen"))


def _the_one(items: list[Any], request_id: str) -> str | None:
    """The whole id, where it is clear; also of one that only its replica keeps."""
    found: set[str] = {item["id"] for item in items}
    if request_id in found or not found:
        return request_id
    return found.pop() if len(found) == 1 else None


def _print_all(stories: list[Any]) -> None:
    for number, story in enumerate(stories):
        if number:
            click.echo()
        _print_story(story)


def _print_story(story: Any) -> None:
    seen, trace = story["seen"], story["trace"]
    if seen is not None:
        _print(seen)
    if trace is not None:
        print_fields(
            {
                "Kept by": f"{trace['replica']} on {trace['node']}, as {trace['why']}",
                "Shared with": ", ".join(trace["shared_with"]),
                "Left out": trace["left_out"] or None,
            }
        )
    click.echo()
    for line in lines(story["bars"], [] if trace is None else trace["spans"]):
        click.echo(line)
    if story["told"]:
        click.echo(story["told"])


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S.%f")[:-3]


def _took(item: Any) -> str | None:
    return None if item["duration_us"] is None else duration(item["duration_us"] / 1e6)


def _in_replica(item: Any) -> str | None:
    """Of what reached none the time until the answer is the gateway's own."""
    if item["replica_us"] is None or not item["host"]:
        return None
    return duration(item["replica_us"] / 1e6)


def _status(item: Any) -> str:
    """Of gRPC where it is no success, which HTTP does not tell."""
    if item["grpc_status"]:
        return f"gRPC {item['grpc_status']}"
    return "gone" if item["status"] == 0 else str(item["status"])


COLUMNS = {
    "TIME": lambda item: _moment(item["at"]),
    "STATUS": _status,
    "TOOK": _took,
    "REPLICA": _in_replica,
    "DEPLOYMENT": lambda item: item["deployment"],
    "NODE": lambda item: item["node"],
    "IN": lambda item: byte_count(item["request_bytes"]),
    "OUT": lambda item: byte_count(item["response_bytes"]),
    "PATH": lambda item: item["path"],
    "ID": lambda item: item["id"][:SHORT],
}


def _print(item: Any) -> None:
    timed = item["duration_us"] is not None
    print_fields(
        {
            "Request": item["id"],
            "Time": _moment(item["at"]),
            "Call": f"{item['method']} {item['path']}{', JSON' if item['as_json'] else ''}",
            "Status": _status(item),
            "Deployment": item["deployment"] or "none: the gateway answered by itself",
            "Replica": f"{item['replica'] or 'gone'} on {item['node'] or item['host']}"
            if item["host"]
            else None,
            "Tries": item["attempts"] or None,
            "In, out": f"{byte_count(item['request_bytes'])}, {byte_count(item['response_bytes'])}",
            "Gateway says": " ".join(part for part in (item["flags"], item["details"]) if part),
            "Took": _took(item),
            "  client sent": duration(item["receive_us"] / 1e6) if timed else None,
            "  replica": _in_replica(item),
            "  client took": duration(item["send_us"] / 1e6) if timed else None,
        }
    )

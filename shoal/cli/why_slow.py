"""``shoal why-slow``: where the time of an endpoint's requests goes, and what to change."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import duration

PARTS = {
    "client_sends": "client sends",
    "gateway": "gateway and network",
    "protocol": "decoding, encoding",
    "queue": "queue",
    "compute_input": "batch made",
    "compute_infer": "model",
    "compute_output": "batch split",
    "client_takes": "client takes",
}
WIDTH = 40  # characters of the longest bar


@click.command("why-slow", short_help="Say where an endpoint's time goes, and what to change.")
@click.argument("endpoint")
@click.option("--deployment", "-d", help="Default: the one that answered most.")
@click.option(
    "--range",
    "range_s",
    type=click.IntRange(10, 900),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="The last so many seconds.",
)
@output_option
def why_slow(endpoint: str, deployment: str | None, range_s: int, output: str) -> None:
    """Say where the time of an endpoint's requests goes, and the likeliest causes.

    Ask while there is load: it looks at what gateways, runtimes and nodes measured in the last
    minute.
    """
    from shoal.client import Client

    with Client() as client:
        item = client.get_bottlenecks(endpoint, deployment=deployment, range_s=range_s)
    emit(item, output, lambda: _print(item))


def _print(item: Any) -> None:
    click.echo(f"{item['deployment']}: {item['summary']}")
    if not item["total_us"]:
        return
    click.echo()
    total = item["total_us"]
    columns = {
        "WHERE": lambda part: PARTS.get(part["name"], part["name"]),
        "TIME": lambda part: duration(part["us"] / 1e6),
        "SHARE": lambda part: f"{100 * part['us'] / total:.0f} %",
        "": lambda part: "█" * round(WIDTH * min(1.0, part["us"] / total)) or "▏",
    }
    print_rows(item["parts"], columns, "")
    for number, found in enumerate(item["findings"], start=1):
        click.echo(f"\n{number}. {found['title']} ({duration(found['us'] / 1e6)})")
        click.echo(f"   {found['text']}")
        click.echo(f"   → {found['change']}")

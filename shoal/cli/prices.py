"""``shoal prices``: what an hour of an instance type or of a node costs."""

from typing import Any

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import significant

NO_PRICE = "none"


@click.group(short_help="What an hour of an instance type or of a node costs.")
def prices() -> None:
    """What instance types and nodes cost per hour: what `shoal capacity` makes costs of.

    A replica costs the price of its instance type; one without costs its share of its node's.
    """


@prices.command()
@output_option
def show(output: str) -> None:
    """Show all prices."""
    from shoal.client import Client

    with Client() as client:
        found = client.get_prices()
    emit(found, output, lambda: _print(found))


@prices.command("set", short_help="Set prices; what is not named stays.")
@click.option("--currency", help="EUR, for instance.")
@click.option(
    "--instance-type", "kinds", multiple=True, metavar="NAME=PRICE", help="Per hour and replica."
)
@click.option("--node", "nodes", multiple=True, metavar="NAME=PRICE", help="Per hour.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE=PRICE",
    help="Of nodes with this label that have no price by their name.",
)
@output_option
def set_(
    currency: str | None,
    kinds: tuple[str, ...],
    nodes: tuple[str, ...],
    labels: tuple[str, ...],
    output: str,
) -> None:
    """Set prices; what is not named stays as it is, and the price `none` takes one away.

    \b
      shoal prices set --currency EUR --instance-type gpu-t4=0.95
      shoal prices set --node rack-7=1.20 --label zone=cellar=0.40
      shoal prices set --node rack-7=none

    Needs the role admin.
    """
    from shoal.client import Client

    with Client() as client:
        found: dict[str, Any] = {**client.get_prices()}
        if currency is not None:
            found["currency"] = currency
        for field, texts in (("instance_types", kinds), ("nodes", nodes)):
            found[field] = _changed(found[field], [_parts(text) for text in texts])
        known = {(one["key"], one["value"]): one["per_hour"] for one in found["labels"]}
        known = _changed(known, [_label(text) for text in labels])
        found["labels"] = [
            {"key": key, "value": value, "per_hour": price} for (key, value), price in known.items()
        ]
        answer = client.set_prices(found)
    emit(answer, output, lambda: _print(answer))


def _changed(known: dict[Any, float], changes: list[tuple[Any, float | None]]) -> dict[Any, float]:
    wanted = {**known, **dict(changes)}
    return {name: price for name, price in wanted.items() if price is not None}


def _parts(text: str) -> tuple[str, float | None]:
    name, separator, price = text.rpartition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r}, expected NAME=PRICE")
    return name, _price(price, text)


def _label(text: str) -> tuple[tuple[str, str], float | None]:
    name, price = _parts(text)
    key, separator, value = name.partition("=")
    if not separator or not key:
        raise click.BadParameter(f"{text!r}, expected KEY=VALUE=PRICE")
    return (key, value), price


def _price(text: str, whole: str) -> float | None:
    if text == NO_PRICE:
        return None
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(
            f"{whole!r}: the price is {text!r}, expected a number such as 0.95, or {NO_PRICE}"
        ) from None


def _print(found: Any) -> None:
    rows = [("instance type", name, price) for name, price in found["instance_types"].items()]
    rows += [("node", name, price) for name, price in found["nodes"].items()]
    rows += [("label", f"{one['key']}={one['value']}", one["per_hour"]) for one in found["labels"]]
    columns = {
        "OF": lambda row: row[0],
        "NAME": lambda row: row[1],
        "PER HOUR": lambda row: f"{significant(row[2])} {found['currency']}".rstrip(),
    }
    print_rows(rows, columns, "No prices are set")

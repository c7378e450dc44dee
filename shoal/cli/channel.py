"""``shoal channel``: where alerts are told, and what came of it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import AzCommand, file_option
from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import moment

if TYPE_CHECKING:
    from shoal.entities import Channel

KINDS = ("webhook", "slack", "alertmanager", "email")
_severity = click.option(
    "--severity",
    "severities",
    multiple=True,
    type=click.Choice(["page", "ticket"]),
    help="Those alone; may come twice.",
)
_projects = click.option(
    "--project-alerts",
    "projects",
    multiple=True,
    metavar="PROJECT",
    help="Of these projects alone.",
)


@click.group(short_help="Where alerts are told: webhooks, Slack, Alertmanager, e-mail.")
def channel() -> None:
    """Say where alerts are told, try it, and see what was sent.

    \b
      shoal channel create on-call --kind webhook --url https://example.org/hook
      shoal channel create -f on-call.yml
      shoal channel test on-call
      shoal channel deliveries on-call
    """


@channel.command(cls=AzCommand, short_help="Make a channel.")
@click.argument("name", required=False)
@click.option("--kind", type=click.Choice(KINDS))
@click.option("--url", help="Where it is posted; it is sealed. `-` reads it from stdin.")
@click.option("--to", "recipients", multiple=True, metavar="ADDRESS", help="Of e-mail.")
@_severity
@_projects
@file_option("channel")
@output_option
def create(
    name: str | None,
    kind: str | None,
    url: str | None,
    recipients: tuple[str, ...],
    severities: tuple[str, ...],
    projects: tuple[str, ...],
    file: Path | None,
    output: str,
) -> None:
    """Make a channel. Of a webhook the secret of its signature is printed, this once.

    A file says where URL and secret are ({env: NAME} or {file: PATH}), never what they are. Options
    go before what it says.
    """
    from shoal.client import Client

    if file is None and (name is None or kind is None):
        raise click.UsageError("Give NAME and --kind, or --file with them in it.")
    asked: dict[str, Any] = {
        "url": _url(url),
        "recipients": list(recipients),
        "severities": list(severities),
        "projects": list(projects),
    }
    settings = {field: value for field, value in asked.items() if value}
    entity = _loaded(file, name, url=url)
    kind = kind or entity.kind
    if kind is None:
        raise click.UsageError("The file has no kind: write it there, or give --kind.")
    with Client() as client:
        item = client.create_channel(entity.name, kind, **{**entity.settings(), **settings})

    def shown() -> None:
        print_rows([item], COLUMNS, "")
        if item["secret"]:
            click.echo(f"\nSecret of its signatures, shown this once:\n{item['secret']}")

    emit(item, output, shown)


@channel.command(cls=AzCommand, short_help="Change a channel, or turn it off.")
@click.argument("name", required=False)
@click.option("--url", help="`-` reads it from stdin.")
@click.option("--to", "recipients", multiple=True, metavar="ADDRESS")
@_severity
@_projects
@click.option("--on/--off", "enabled", default=None)
@file_option("channel")
@output_option
def update(
    name: str | None,
    url: str | None,
    recipients: tuple[str, ...],
    severities: tuple[str, ...],
    projects: tuple[str, ...],
    enabled: bool | None,
    file: Path | None,
    output: str,
) -> None:
    """Change a channel; what is left out stays, its kind always. Options go before the file's."""
    from shoal.client import Client

    if file is None and name is None:
        raise click.UsageError("Give NAME, or --file with a name in it.")
    asked: dict[str, Any] = {
        "url": _url(url),
        "recipients": list(recipients) or None,
        "severities": list(severities) or None,
        "projects": list(projects) or None,
        "enabled": enabled,
    }
    entity = _loaded(file, name, url=url)
    said = {field: value for field, value in asked.items() if value is not None}
    changes = {**entity.settings(), **said}
    if not changes:
        raise click.UsageError("Say what shall change.")
    with Client() as client:
        item = client.change_channel(entity.name, **changes)
    emit(item, output, lambda: print_rows([item], COLUMNS, ""))


@channel.command()
@click.argument("name")
@output_option
def show(name: str, output: str) -> None:
    """Show a channel, without URL and secret.

    With -o yaml it is a file that `update` takes.
    """
    from shoal.client import Client

    with Client() as client:
        item = client.get_channel(name)
    emit(item, output, lambda: print_rows([item], COLUMNS, ""))


@channel.command("list")
@output_option
def list_(output: str) -> None:
    """List channels, without URLs and secrets."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_channels()
    emit(items, output, lambda: print_rows(items, COLUMNS, "No channels yet"))


@channel.command()
@click.argument("name")
@output_option
def test(name: str, output: str) -> None:
    """Send a test now; exit code 1 unless it is taken."""
    from shoal.client import Client
    from shoal.client.errors import ShoalError

    with Client() as client:
        item = client.test_channel(name)
    emit(item, output, lambda: print_rows([item], DELIVERIES, ""))
    if item["status"] != "delivered":
        raise ShoalError(f"{name} did not take it", item["log"][-1]["error"])


@channel.command()
@click.argument("name")
@output_option
def deliveries(name: str, output: str) -> None:
    """List what was sent, newest first, and what came of it."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_deliveries(name)
    emit(items, output, lambda: print_rows(items, DELIVERIES, "Nothing was sent yet"))


@channel.command()
@click.argument("name")
@click.argument("delivery_id")
@output_option
def replay(name: str, delivery_id: str, output: str) -> None:
    """Send the same message once more, signed anew."""
    from shoal.client import Client

    with Client() as client:
        item = client.replay_delivery(name, delivery_id)
    emit(item, output, lambda: print_rows([item], DELIVERIES, ""))


@channel.command()
@click.argument("name")
def delete(name: str) -> None:
    """Remove a channel with its log."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.delete_channel(name)
    note(f"Removed {name}")


COLUMNS = {
    "NAME": lambda item: item["name"],
    "KIND": lambda item: item["kind"],
    "ON": lambda item: "yes" if item["enabled"] else "no",
    "WHERE": lambda item: item["address"] or ", ".join(item["recipients"]),
    "SEVERITY": lambda item: ", ".join(item["severities"]) or "all",
    "PROJECTS": lambda item: ", ".join(item["projects"]) or "all",
    "SIGNED": lambda item: "yes" if item["signed"] else "no",
}
DELIVERIES = {
    "ID": lambda item: item["id"],
    "EVENT": lambda item: item["event"],
    "STATUS": lambda item: item["status"],
    "TRIES": lambda item: item["attempts"],
    "MADE": lambda item: moment(item["created_at"]),
    "NEXT": lambda item: moment(item["next_at"]) if item["next_at"] else None,
    "WHAT CAME": lambda item: _came(item),
}


def _came(item: Any) -> str:
    if not item["log"]:
        return ""
    last = item["log"][-1]
    return str(last["error"] or f"{last['status'] or 'taken'} in {last['ms']:.0f} ms")


def _loaded(file: Path | None, name: str | None, *, url: str | None) -> "Channel":
    """What the file says, but for the URL where an option does."""
    from shoal.entities.loading import load_channel

    laid: dict[str, Any] = {"name": name} if name is not None else {}
    if url is not None:
        laid["url"] = None
    return load_channel(file or {}, params_override=[laid])


def _url(url: str | None) -> str | None:
    return sys.stdin.readline().strip() if url == "-" else url

"""``shoal service-account``: programs that call, each with a role and tokens that end."""

import sys
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.user import ROLES
from shoal.display.units import moment

_role = click.Choice(ROLES)
_days = click.option("--days", type=click.IntRange(min=1), help="How long the token works.")


@click.group("service-account", short_help="Accounts of programs, with tokens that end.")
def service_account() -> None:
    """Accounts of programs: each has a role, and tokens that end. Needs the role admin.

    \b
      shoal service-account create ci --role deployer    prints a token, once
      shoal service-account rotate ci --overlap-hours 2  prints a fresh one
    """


@service_account.command("list")
@output_option
def list_(output: str) -> None:
    """List service accounts, with their tokens that still work."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_service_accounts()
    columns = {
        "NAME": lambda item: item["name"],
        "ROLE": lambda item: item["role"],
        "TOKENS": lambda item: len(item["tokens"]),
        "LAST USED": lambda item: moment(_newest(item, "last_used_at")),
        "ENDS": lambda item: moment(_newest(item, "expires_at")),
    }
    emit(items, output, lambda: print_rows(items, columns, "No service accounts"))


@service_account.command()
@click.argument("name")
@click.option("--role", type=_role, default="viewer", show_default=True, help="What it may do.")
@_days
@output_option
def create(name: str, role: str, days: int | None, output: str) -> None:
    """Make an account for a program. Its token is printed once."""
    from shoal.client import Client

    with Client() as client:
        _emit(client.create_service_account(name, role, days=days), output)


@service_account.command(short_help="Make a fresh token, printed once.")
@click.argument("name")
@_days
@click.option(
    "--overlap-hours",
    type=click.IntRange(0, 720),
    default=24,
    show_default=True,
    help="How long older tokens work on.",
)
@output_option
def rotate(name: str, days: int | None, overlap_hours: int, output: str) -> None:
    """Make a fresh token, printed once. Older ones end after the overlap."""
    from shoal.client import Client

    with Client() as client:
        made = client.rotate_service_account(name, days=days, overlap_s=overlap_hours * 3600)
    _emit(made, output)


@service_account.command()
@click.argument("name")
@click.option("--role", type=_role, required=True, help="What it may do from now on.")
@output_option
def update(name: str, role: str, output: str) -> None:
    """Change a service account's role."""
    from shoal.client import Client

    with Client() as client:
        _emit(client.update_service_account(name, role), output)


@service_account.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(name: str, yes: bool) -> None:
    """End its tokens at once. The name is not given again."""
    from shoal.cli.report import note
    from shoal.client import Client

    if not yes and sys.stdin.isatty():
        click.confirm(f"Delete the service account {name}?", abort=True, err=True)
    with Client() as client:
        client.delete_service_account(name)
    note(f"{name} is deleted; its tokens are refused from now on.")


def _newest(item: Any, field: str) -> str | None:
    return max((token[field] for token in item["tokens"] if token[field]), default=None)


def _emit(item: Any, output: str) -> None:
    fields = {
        "Name": item["name"],
        "Role": item["role"],
        "Ends": moment(_newest(item, "expires_at")),
        "Token": item.get("token"),
    }
    emit(item, output, lambda: print_fields(fields))

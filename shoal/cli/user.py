"""``shoal user``: who may sign in, and what they may do."""

import sys
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment

ROLES = ("member", "viewer", "invoker", "deployer", "operator", "admin")
_role = click.Choice(ROLES)
_password_stdin = click.option(
    "--password-stdin", is_flag=True, help="Read the password from stdin; default: one is made up."
)


@click.group()
def user() -> None:
    """People and their roles. Needs the role admin.

    Each role may do what the ones before it may: viewer, invoker, deployer, operator, admin.
    """


@user.command("list")
@output_option
def list_(output: str) -> None:
    """List users."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_users()
    columns = {
        "NAME": lambda item: item["username"],
        "ROLE": lambda item: item["role"],
        "ACTIVE": lambda item: "yes" if item["active"] else "no",
        "SIGNS IN BY": lambda item: item.get("sign_in", ""),
        "CODE": lambda item: "yes" if item.get("second_factor") else "no",
        "LAST SIGN-IN": lambda item: moment(item["last_login"]),
    }
    emit(items, output, lambda: print_rows(items, columns, "No users"))


@user.command()
@click.argument("name")
@click.option("--role", type=_role, default="viewer", show_default=True, help="What they may do.")
@_password_stdin
@output_option
def add(name: str, role: str, password_stdin: bool, output: str) -> None:
    """Let somebody sign in. A password that is made up is printed once."""
    from shoal.client import Client

    with Client() as client:
        made = client.create_user(name, role, _given(password_stdin))
    _emit(made, output)


@user.command(short_help="Change a user's role, or whether they sign in.")
@click.argument("name")
@click.option("--role", type=_role, help="What they may do from now on.")
@click.option("--active/--inactive", default=None, help="Whether they may sign in.")
@click.option(
    "--sign-in",
    type=click.Choice(["password", "oidc", "header"]),
    help="By a password kept here, at the provider, or as the proxy says.",
)
@output_option
def update(
    name: str, role: str | None, active: bool | None, sign_in: str | None, output: str
) -> None:
    """Change a user's role, or take the right to sign in away. Tokens go with it.

    With oidc or header, whoever next comes from there with this name has the account.
    """
    from shoal.client import Client

    wanted = {"role": role, "active": active, "sign_in": sign_in}
    changes = {key: value for key, value in wanted.items() if value is not None}
    if not changes:
        raise click.UsageError("Say what changes: --role, --active, --inactive or --sign-in.")
    with Client() as client:
        _emit(client.update_user(name, **changes), output)


@user.command("reset-password", short_help="Give a user a new password.")
@click.argument("name")
@_password_stdin
@output_option
def reset_password(name: str, password_stdin: bool, output: str) -> None:
    """Give a user a new password; it is printed once if it was made up."""
    from shoal.client import Client

    with Client() as client:
        made = client.set_user_password(name, _given(password_stdin))
    shown = {"username": name, "password": made}
    emit(shown, output, lambda: print_fields({"Name": name, "Password": made or "as given"}))


@user.command("reset-second-factor", short_help="Let a user sign in without a code.")
@click.argument("name")
def reset_second_factor(name: str) -> None:
    """Take a user's second factor away, whose app and recovery codes are gone.

    Their browsers are signed out. Yours goes by `shoal second-factor disable`.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.reset_second_factor(name)
    note(f"Signing in as {name} asks for no code any more")


def _given(from_stdin: bool) -> str | None:
    return sys.stdin.readline().rstrip("\r\n") if from_stdin else None


def _emit(item: Any, output: str) -> None:
    fields = {
        "Name": item["username"],
        "Role": item["role"],
        "Active": "yes" if item["active"] else "no",
        "Password": item.get("password"),
    }
    emit(item, output, lambda: print_fields(fields))

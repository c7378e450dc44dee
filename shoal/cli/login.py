"""``shoal login``: stores a token for an installation on another machine."""

import getpass
import socket
import sys

import click

DEFAULT_URL = "http://127.0.0.1:8080"


@click.command()
@click.option(
    "--url", prompt=True, default=DEFAULT_URL, show_default=True, help="The studio's URL."
)
@click.option("--username", prompt=True, default="admin", show_default=True)
@click.option("--password-stdin", is_flag=True, help="Read the password from stdin, for scripts.")
def login(url: str, username: str, password_stdin: bool) -> None:
    """Sign in to an installation on another machine.

    Exchanges the password for a token, which is kept in ~/.config/shoal/client.json, readable by
    you alone. The password itself is not stored. The token can be revoked in the studio.
    """
    from shoal.cli.report import note
    from shoal.client.discovery import find_installation, save_login
    from shoal.client.login import create_token

    if "://" not in url:
        raise click.BadParameter("expected http://… or https://…", param_hint="--url")
    if password_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = click.prompt("Password", hide_input=True, err=True)
    token_name = f"{getpass.getuser()}@{socket.gethostname()}"
    installation = create_token(url, username, password, token_name=token_name)
    path = save_login(installation)
    note(f"Signed in to {installation.url} as {username}; token kept in {path}")
    used = find_installation()
    if used.url != installation.url:
        note(f"Here, {used.url} goes first (from {used.source}). Elsewhere the new one is used.")

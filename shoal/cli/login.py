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
@click.option("--username", help="Asked for if left out.")
@click.option("--password-stdin", is_flag=True, help="Read the password from stdin, for scripts.")
@click.option("--token-stdin", is_flag=True, help="Read a token made in the studio from stdin.")
def login(url: str, username: str | None, password_stdin: bool, token_stdin: bool) -> None:
    """Sign in to an installation on another machine.

    Exchanges the password for a token, which is kept in ~/.config/shoal/client.json, readable by
    you alone. The password itself is not stored. The token can be revoked in the studio.
    """
    from shoal.cli.report import note
    from shoal.client.discovery import find_installation, save_login
    from shoal.client.login import create_token, given_token

    if "://" not in url:
        raise click.BadParameter("expected http://… or https://…", param_hint="--url")
    if token_stdin:
        installation = given_token(url, sys.stdin.readline().strip())
        note(f"Token of {installation.username} kept in {save_login(installation)}")
        return
    username = username or click.prompt("Username", default="admin", err=True)
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

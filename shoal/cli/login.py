"""``shoal login`` and ``logout``: a token for an installation on another machine, kept safely."""

import getpass
import socket
import sys

import click

DEFAULT_URL = "http://127.0.0.1:8080"
TOKENS_PAGE = "/settings/tokens"


@click.command()
@click.option(
    "--url", prompt=True, default=DEFAULT_URL, show_default=True, help="The studio's URL."
)
@click.option("--username", help="Asked for if left out.")
@click.option("--password-stdin", is_flag=True, help="Read the password from stdin, for scripts.")
@click.option("--code", help="Of your second factor, or a recovery code. Asked for if needed.")
@click.option("--token-stdin", is_flag=True, help="Read a token made in the studio from stdin.")
@click.option(
    "--browser", is_flag=True, help="Make a token in the studio's pages and paste it here."
)
@click.option(
    "--in-file", is_flag=True, help="Keep the token in the file, whatever keyring is here."
)
def login(
    url: str,
    username: str | None,
    password_stdin: bool,
    code: str | None,
    token_stdin: bool,
    browser: bool,
    in_file: bool,
) -> None:
    """Sign in to an installation on another machine.

    \b
      shoal login --url https://shoal.example             user name and password
      shoal login --url https://shoal.example --browser   a token from the studio

    What is kept is a token: in the system's keyring, or where there is none in
    ~/.config/shoal/client.json, readable by you alone. A password is exchanged for a token and not
    stored. Tokens can be revoked in the studio; `shoal logout` forgets this one.
    """
    from shoal.cli.report import note
    from shoal.client.discovery import find_installation, save_login
    from shoal.client.login import create_token, given_token

    if "://" not in url:
        raise click.BadParameter("expected http://… or https://…", param_hint="--url")
    if browser:
        installation = given_token(url, _pasted(url))
    elif token_stdin:
        installation = given_token(url, sys.stdin.readline().strip())
    else:
        username = username or click.prompt("Username", default="admin", err=True)
        if password_stdin:
            password = sys.stdin.readline().rstrip("\r\n")
        else:
            password = click.prompt("Password", hide_input=True, err=True)
        token_name = f"{getpass.getuser()}@{socket.gethostname()}"
        installation = create_token(
            url,
            username,
            password,
            token_name=token_name,
            code=lambda: code or str(click.prompt("Code", err=True)).strip(),
        )
    path, keyring = save_login(installation, in_file=in_file)
    where = f"the keyring ({keyring})" if keyring else path
    note(f"Signed in to {installation.url} as {installation.username}; token kept in {where}")
    used = find_installation()
    if used.url != installation.url:
        note(f"Here, {used.url} goes first (from {used.source}). Elsewhere the new one is used.")


def _pasted(url: str) -> str:
    from shoal.cli.report import note

    page = f"{url.rstrip('/')}{TOKENS_PAGE}"
    note(f"Make a token on {page} and copy it.")
    if click.launch(page) != 0:
        note("(No browser could be started here: open that page in any.)")
    return str(click.prompt("Token", hide_input=True, err=True)).strip()


@click.command()
def logout() -> None:
    """Forget the token that `shoal login` kept here.

    It stays valid until it is revoked in the studio.
    """
    from shoal.cli.report import note
    from shoal.client.discovery import drop_login

    dropped = drop_login()
    if dropped is None:
        note("Nobody is signed in here.")
    else:
        note(f"The token of {dropped.username} at {dropped.url} is forgotten.")

"""``shoal signing-key``: keys that sign models, and the public ones that an installation trusts."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment

if TYPE_CHECKING:
    from shoal.signing.secret_key import SecretKey

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_password_stdin = click.option(
    "--password-stdin", is_flag=True, help="Read the password from stdin."
)


@click.group("signing-key", short_help="Keys that sign models, and which count here.")
def signing_key() -> None:
    """Keys that sign models, and which of them count here. Their files are those of minisign.

    \b
      shoal signing-key create ada                       makes ada.key and ada.pub
      shoal signing-key add ada.pub --comment Ada        its signatures count
      shoal model sign -n digits -v 3 --key ada.key      signs, on this machine
    """


@signing_key.command()
@click.argument("name", type=click.Path(path_type=Path))
@click.option("--no-password", is_flag=True, help="Leave the secret key in clear, for machines.")
@_password_stdin
@output_option
def create(name: Path, no_password: bool, password_stdin: bool, output: str) -> None:
    """Make a pair of keys here: NAME.key, which is secret, and NAME.pub. Nothing is sent."""
    from shoal.signing.secret_key import new_key, write_pair

    if no_password and password_stdin:
        raise click.UsageError("--no-password and --password-stdin exclude each other.")
    password = "" if no_password else _password(password_stdin, new=True)
    if not password and not no_password:
        raise click.UsageError("An empty password: give one, or --no-password.")
    key = new_key()
    secret_file, public_file = (
        name.with_name(f"{name.name}.key"),
        name.with_name(f"{name.name}.pub"),
    )
    write_pair(key, password, secret_file, public_file)
    public = key.public
    shown = {
        "key_id": public.name,
        "public_key": public.line(),
        "secret_key_file": str(secret_file),
        "public_key_file": str(public_file),
    }
    fields = {
        "Key": public.name,
        "Public": f"{public_file}: {public.line()}",
        "Secret": f"{secret_file}: keep a copy; nobody can make it again",
    }
    emit(shown, output, lambda: print_fields(fields))


@signing_key.command(short_help="Have a key's signatures count here.")
@click.argument("file", type=_file)
@click.option("--comment", required=True, help="Whose key it is, for people.")
@output_option
def add(file: Path, comment: str, output: str) -> None:
    """Have the signatures of the public key in FILE count here. Needs the role admin."""
    from shoal.client import Client

    with Client() as client:
        made = client.add_signing_key(file.read_text(encoding="utf-8"), comment)
    fields = {"Key": made["key_id"], "Comment": made["comment"], "Public": made["public_key"]}
    emit(made, output, lambda: print_fields(fields))


@signing_key.command("list")
@output_option
def list_(output: str) -> None:
    """List the keys whose signatures count here."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_signing_keys()
    columns = {
        "KEY": lambda item: item["key_id"],
        "COMMENT": lambda item: item["comment"],
        "PUBLIC": lambda item: item["public_key"],
        "ADDED": lambda item: f"{moment(item['created_at'])} by {item['added_by']}",
    }
    emit(items, output, lambda: print_rows(items, columns, "No keys: shoal signing-key add FILE"))


@signing_key.command(short_help="Have a key's signatures count no more.")
@click.argument("key_id")
def remove(key_id: str) -> None:
    """Have a key's signatures count no more; what they let run runs on. Needs the role admin."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.remove_signing_key(key_id)
    note(f"Signatures of the key {key_id} count no more")


def opened(file: Path, *, password_stdin: bool) -> "SecretKey":
    """The secret key in ``file``; asks for its password if it has one. Raises KeyUnusable."""
    from shoal.signing.secret_key import is_encrypted, secret_key

    text = file.read_text(encoding="utf-8", errors="replace")
    password = _password(password_stdin, new=False) if is_encrypted(text) else ""
    return secret_key(text, password)


def _password(from_stdin: bool, *, new: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    asked: Any = click.prompt(
        "Password of the key", hide_input=True, confirmation_prompt=new, err=True
    )
    return str(asked)

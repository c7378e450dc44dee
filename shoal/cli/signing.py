"""``shoal model sign`` and ``signature``: signatures are made and checked on this machine."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import name_option
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_folder = click.Path(exists=True, file_okay=False, path_type=Path)
_version = click.option(
    "--version", "-v", default="latest", show_default=True, help="A number, or an alias."
)
_revision = click.option(
    "--config-revision", type=click.IntRange(0), help="Default: the newest; 0: the files alone."
)
_path = click.option(
    "--path", "-p", type=_folder, help="Compare with the files of this repository first."
)


@click.command(short_help="Sign a version with a key of this machine.")
@name_option("Name of the model.", required=True)
@_version
@_revision
@click.option("--key", "-k", type=_file, required=True, help="The secret key's file.")
@_path
@click.option("--password-stdin", is_flag=True, help="Read the key's password from stdin.")
@output_option
def sign(
    name: str,
    version: str,
    config_revision: int | None,
    key: Path,
    path: Path | None,
    password_stdin: bool,
    output: str,
) -> None:
    """Sign what a version runs: its files, with the newest edited configuration.

    The signature is made here, in minisign's format, and sent; the secret key stays. Without
    --path the digest is the installation's word; with it, it is made from your own files too.
    """
    from shoal.cli.report import note
    from shoal.cli.signing_key import opened
    from shoal.client import Client
    from shoal.signing.statements import statement_checked

    with Client() as client:
        shown = client.get_signatures(name, version, config_revision)
        data = statement_checked(shown["digest"], path)
        secret = opened(key, password_stdin=password_stdin)
        number, revision = shown["version"], shown["config_revision"]
        made = secret.sign(data, file=f"{name}-{number}.statement")
        after = client.add_signature(name, number, made.file(), config_revision=revision)
    emit(after, output, lambda: _print(after))
    edited = f" with configuration revision {revision}" if revision else ""
    note(f"Model {name} version {number}{edited} is signed by {secret.public.name}")
    if path is None:
        note("Its digest was not compared with files of yours: --path FOLDER does that.")


@click.command(short_help="Who signed a version; fetch and check it.")
@name_option("Name of the model.", required=True)
@_version
@_revision
@click.option("--public-key", type=_file, help="Exit 1 unless this key signed it; checked here.")
@_path
@click.option(
    "--download-path",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the statement and the .minisig files there.",
)
@output_option
def signature(
    name: str,
    version: str,
    config_revision: int | None,
    public_key: Path | None,
    path: Path | None,
    download_path: Path | None,
    output: str,
) -> int:
    """Show who signed what a version runs, and check it here with a public key.

    `minisign -Vm NAME-N.statement -p FILE.pub` checks what --download-path wrote.
    """
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.signing.statements import public_keys_in, statement_checked, verified, written

    with Client() as client:
        shown = client.get_signatures(name, version, config_revision)
    data = statement_checked(shown["digest"], path)
    emit(shown, output, lambda: _print(shown))
    if download_path is not None:
        for file in written(name, shown, download_path):
            note(f"wrote {file}")
    if public_key is None:
        return 0
    keys = public_keys_in(public_key)
    if any(verified(keys, item["signature"], data) for item in shown["items"]):
        note(f"Checked here: signed by the key in {public_key}")
        return 0
    note(f"Checked here: the key in {public_key} has not signed this")
    return 1


def _print(shown: Any) -> None:
    revision = shown["config_revision"]
    edited = f", configuration revision {revision}" if revision else ""
    print_fields(
        {
            "Model": f"{shown['model']} version {shown['version']}{edited}",
            "Digest": shown["digest"],
            "Signed": "yes" if shown["signed"] else "no",
            "Needed here": "yes" if shown["required"] else "no",
        }
    )
    click.echo()
    columns = {
        "KEY": lambda item: item["key_id"],
        "OF": lambda item: item["comment"] if item["counts"] else "not trusted any more",
        "UPLOADED": lambda item: f"{moment(item['uploaded_at'])} by {item['uploaded_by']}",
        "SIGNER SAYS": lambda item: item["trusted_comment"].replace("\t", " "),
    }
    print_rows(shown["items"], columns, "No signatures: shoal model sign --name NAME --key FILE")

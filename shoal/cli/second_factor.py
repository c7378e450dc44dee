"""``shoal second-factor``: one-time passwords beside one's own password."""

import click

from shoal.cli.output import emit, output_option, print_fields


@click.group("second-factor", short_help="Your one-time passwords: status, enable, disable.")
def second_factor() -> None:
    """One-time passwords of an app beside your own password: status, enable, disable."""


@second_factor.command(short_help="Say whether signing in asks for a code.")
@output_option
def status(output: str) -> None:
    """Say whether signing in asks for a code, and how many recovery codes are left."""
    from shoal.client import Client

    with Client() as client:
        found = client.second_factor()
    fields = {"State": found["state"], "Recovery codes": found["recovery_codes_left"]}
    emit(found, output, lambda: print_fields(fields))


@second_factor.command(short_help="Have a code asked for beside the password.")
@output_option
def enable(output: str) -> None:
    """Set it up: put the secret into an app, then type a code that it shows.

    The recovery codes are printed once; each signs you in once without the app. Your other browsers
    are signed out, and tokens go on.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        begun = client.begin_second_factor(_password())
        note(f"Put this into your app: {begun['secret']}")
        note(begun["uri"])
        codes = client.confirm_second_factor(_code())
    note("Signing in asks for a code from now on. Keep these recovery codes; each works once:")
    emit(codes, output, lambda: click.echo("\n".join(codes)))


@second_factor.command(short_help="Have no code asked for any more.")
def disable() -> None:
    """Take it away, by password and a code (a recovery code as well)."""
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        client.disable_second_factor(_password(), _code())
    note("Signing in asks for no code any more")


def _password() -> str:
    return str(click.prompt("Password", hide_input=True, err=True))


def _code() -> str:
    return str(click.prompt("Code", err=True)).strip()

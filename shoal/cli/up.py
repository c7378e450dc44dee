"""``shoal up``: starts an installation on this machine."""

import click


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def up(arguments: tuple[str, ...]) -> int:
    """Start an installation on this machine; Ctrl-C stops it."""
    from shoal.local.up import main

    return main(list(arguments))

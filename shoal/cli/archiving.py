"""``archive`` and ``restore`` of what has versions, and which of them lists show."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from shoal.cli.options import az_options, name_option
from shoal.cli.output import output_option

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
Option = Callable[[Callable[..., Any]], Callable[..., Any]]

version_option = click.option("--version", "-v", help="A number.")


def archived_options(command: CommandT) -> CommandT:
    """Options of a list; `listed` reads them."""
    only = click.option("--archived-only", is_flag=True, help="Archived ones only.")
    too = click.option("--include-archived", is_flag=True, help="Archived ones too.")
    return too(only(command))


def listed(include_archived: bool, archived_only: bool) -> str:
    """The ``list_view_type`` of the SDK."""
    return "All" if include_archived else "ArchivedOnly" if archived_only else "ActiveOnly"


def add_archiving(group: click.Group, *, hides: str, options: tuple[Option, ...] = ()) -> None:
    """Commands of a group whose name, with an "s", is the collection of the SDK's client.

    ``hides`` is the help of ``archive``; ``options`` stand after the name.
    """
    noun = str(group.name)
    for verb, text, done in (
        ("archive", hides, "archived"),
        ("restore", f"Bring an archived {noun}, or one version, back.", "back"),
    ):
        command = az_options(output_option(_changing(noun, verb, done)))
        for option in reversed(options):
            command = option(command)
        command = name_option(f"Name of the {noun}.", required=True)(command)
        group.command(verb, help=text)(command)


def _changing(noun: str, verb: str, done: str) -> Callable[..., Any]:
    def change(name: str, version: str | None, label: str | None, output: str) -> None:
        from shoal.cli.report import note
        from shoal.cli.session import ml_client

        del output
        with ml_client() as client:
            getattr(getattr(client, f"{noun}s"), verb)(name, version, label)
        which = f" version {version or label}" if version or label else ""
        note(f"{noun.capitalize()} {name}{which} is {done}")

    return change

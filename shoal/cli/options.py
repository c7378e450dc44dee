"""Commands that take options as az does, and the options that several of them share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


class AzOption(click.Option):
    """``greedy``: takes every value up to the next option, as in ``--set a=1 b=2``."""

    def __init__(self, *arguments: Any, greedy: bool = False, **options: Any) -> None:
        self.greedy = greedy
        options["multiple"] = greedy or options.get("multiple", False)
        super().__init__(*arguments, **options)


class AzCommand(click.Command):
    """Long options may be cut short: ``--endpoint`` where only ``--endpoint-name`` begins so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._spread(ctx, [self._whole(ctx, arg) for arg in args]))

    def _whole(self, ctx: click.Context, argument: str) -> str:
        if not argument.startswith("--") or argument == "--":
            return argument
        name, equals, value = argument.partition("=")
        known = [
            option
            for parameter in self.get_params(ctx)
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("--")
        ]
        if name in known:
            return argument
        found = [option for option in known if option.startswith(name)]
        if len(found) > 1:
            raise click.UsageError(
                f"ambiguous option: {name} could match {', '.join(sorted(found))}", ctx
            )
        return f"{found[0]}{equals}{value}" if found else argument

    def _spread(self, ctx: click.Context, arguments: list[str]) -> list[str]:
        greedy = {
            option
            for parameter in self.get_params(ctx)
            if isinstance(parameter, AzOption) and parameter.greedy
            for option in parameter.opts
        }
        spread: list[str] = []
        taking = ""  # the greedy option whose values are being read
        values = 0
        for argument in arguments:
            if argument.startswith("-"):
                taking, values = (argument if argument in greedy else ""), 0
            elif taking and values:
                spread.append(taking)  # once more, for one more value
            spread.append(argument)
            values += not argument.startswith("-")
        return spread


class AzGroup(click.Group):
    command_class = AzCommand


def _ignored(_: click.Context, __: click.Parameter, ___: object) -> None:
    """One workspace per installation: what names another says nothing here."""


def az_options(command: CommandT) -> CommandT:
    """Options of every ``az`` command that mean nothing here; accepted so that scripts run."""
    for names in (
        ("--resource-group", "-g"),
        ("--workspace-name", "-w"),
        ("--subscription",),
    ):
        command = click.option(*names, hidden=True, callback=_ignored, expose_value=False)(command)
    for flag in ("--only-show-errors", "--debug", "--verbose"):
        command = click.option(
            flag, is_flag=True, hidden=True, callback=_ignored, expose_value=False
        )(command)
    return command


def name_option(help_text: str, *, required: bool = False) -> Callable[[CommandT], CommandT]:
    return click.option("--name", "-n", required=required, help=help_text)


def file_option(what: str, *, required: bool = False) -> Callable[[CommandT], CommandT]:
    return click.option(
        "--file",
        "-f",
        required=required,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help=f"YAML file of the {what}.",
    )


set_option = click.option(
    "--set",
    "settings",
    cls=AzOption,
    greedy=True,
    metavar="KEY=VALUE...",
    help="Lay values over the file's: --set instance_count=2 tags.team=vision.",
)
tags_option = click.option(
    "--tags", cls=AzOption, greedy=True, metavar="KEY=VALUE...", help="Tags to give it."
)
no_wait_option = click.option(
    "--no-wait", is_flag=True, help="Return once the change has been accepted."
)
supersede_option = click.option(
    "--supersede",
    is_flag=True,
    help="Cancel what is under way there instead of a refusal; a deletion goes on.",
)
skip_golden_option = click.option(
    "--skip-golden",
    is_flag=True,
    help="Let it answer requests without asking its golden cases first; that is recorded.",
)
local_option = click.option(
    "--local", is_flag=True, help="On this machine alone, in a runtime without an installation."
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


def pairs(expressions: tuple[str, ...], option: str) -> dict[str, str]:
    """``("a=1 b=2", "c=3")`` as a dictionary: az takes them apart at spaces too."""
    found = {}
    for expression in " ".join(expressions).split():
        key, equals, value = expression.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"expected KEY=VALUE, not {expression!r}", param_hint=option)
        found[key] = value
    return found


def percentages(expressions: tuple[str, ...], option: str) -> dict[str, int]:
    found = {}
    for name, text in pairs(expressions, option).items():
        if not text.removesuffix("%").isdecimal():
            raise click.BadParameter(f"{name}: {text!r} is no percentage", param_hint=option)
        found[name] = int(text.removesuffix("%"))
    return found


def confirm(question: str, *, yes: bool) -> None:
    """Asks on a terminal; without one ``--yes`` must have been given."""
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} There is no terminal to ask on: give --yes.")
    click.confirm(question, abort=True, err=True)

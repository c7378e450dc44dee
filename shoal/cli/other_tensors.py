"""A name that is a model's with other inputs and outputs: asked or refused, never just taken."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from shoal.client import Problem

Made = TypeVar("Made")

other_tensors_option = click.option(
    "--allow-other-tensors",
    is_flag=True,
    help="Register it even if its inputs and outputs are not those of the model's newest version. "
    "Else a terminal asks, and without one it is refused.",
)


def registered(
    register: Callable[[bool], Made],
    *,
    allowed: bool,
    aside: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Made:
    """What ``register`` gives, which is told whether only the same tensors will do.

    ``aside`` is around the question. Raises Problem ``TensorsDiffer`` where there is no terminal
    to ask on, click.Abort where the answer is no.
    """
    from shoal.client import Problem

    try:
        return register(not allowed)
    except Problem as problem:
        if problem.code != "TensorsDiffer" or not sys.stdin.isatty():
            raise
        with aside():
            _ask(problem)
    return register(False)


def _ask(problem: "Problem") -> None:
    extra = problem.extra
    click.echo(
        f"Its inputs and outputs are not those of the model's newest version, {extra['newest']}:\n"
        f"  there  {extra['there']}\n"
        f"  here   {extra['here']}",
        err=True,
    )
    click.confirm("Register it as the next version all the same?", abort=True, err=True)

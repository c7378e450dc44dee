"""Options that say where a model comes from, of every command that registers one."""

import subprocess
from collections.abc import Callable
from typing import Any, TypeVar

import click

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
HEAD = "HEAD"
GIT_S = 30


def _commit(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return _checked_out() if value == HEAD else value


def lineage_options(command: CommandT) -> CommandT:
    """What ``lineage_given`` takes."""
    for option in (
        click.option("--dataset", help="Where it comes from: what it was trained on."),
        click.option(
            "--commit",
            callback=_commit,
            help="Where it comes from: the commit of its code. HEAD: what is checked out here, "
            "refused with changes that are not committed.",
        ),
        click.option("--run-url", help="Where it comes from: the run's page, http or https."),
        click.option("--run", help="Where it comes from: name or id of the run that made it."),
        click.option(
            "--source", help="Where it comes from: an address, as of a repository or a bucket."
        ),
    ):
        command = option(command)
    return command


def lineage_given(
    source: str | None,
    run: str | None,
    run_url: str | None,
    commit: str | None,
    dataset: str | None,
) -> dict[str, str]:
    """REST's fields of those that were given."""
    said = {
        "address": source,
        "run": run,
        "run_url": run_url,
        "commit": commit,
        "dataset": dataset,
    }
    return {name: text for name, text in said.items() if text is not None}


def _checked_out() -> str:
    """The commit of the checkout that the command runs in, if that is all there is in it."""
    if _git("status", "--porcelain", "--untracked-files=no"):
        raise click.UsageError(
            "--commit HEAD: the checkout here has changes that no commit holds. Commit them, or "
            "give the commit itself."
        )
    return _git("rev-parse", "--verify", HEAD)


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ("git", *arguments), capture_output=True, text=True, check=False, timeout=GIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.UsageError(f"--commit HEAD: git does not answer here: {error}") from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it gives no reason"])[0]
        raise click.UsageError(f"--commit HEAD: git says: {said}")
    return done.stdout.strip()

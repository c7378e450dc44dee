"""What a node does once, on a terminal: following it to its end, listing, ending it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import moment

POLL_S: Final = 0.5
FINISHED: Final = "OperationFinished"  # what the server says to who cancels too late
Tell = Callable[[Any], None]


def follow(
    client: Any, item: Any, tell: Tell, again: Callable[[str], Any], *, cancel: Any = None
) -> Any:
    """As it is at its end. ``tell`` is shown it whenever it was asked ``again`` for; with
    ``cancel``, Ctrl-C ends it."""
    from shoal.client import Problem
    from shoal.client.runs import UNDER_WAY

    try:
        while True:
            tell(item)
            if item["state"] not in UNDER_WAY:
                return item
            client.concurrency.pause(POLL_S)
            item = again(item["id"])
    except KeyboardInterrupt:
        try:
            if cancel is not None:
                cancel(item["id"])
        except Problem as problem:
            if problem.code != FINISHED:
                raise
        raise


def exit_code(item: Any) -> int:
    return 0 if item["state"] == "Succeeded" else 1


@dataclass(frozen=True)
class Measuring:
    """Sweeps or tunings: what their commands do alike. Calls take the client first."""

    noun: str
    get: Callable[[Any, str], Any]
    cancel: Callable[[Any, str], Any]
    every: Callable[[Any, str, str], Any]
    columns: dict[str, Callable[[Any], object]]  # of the list, behind the state
    teller: Callable[[Any], Tell]  # says what is begun; what it returns, what is new each time
    show: Callable[[Any], None]

    def followed(self, client: Any, item: Any, *, cancels: bool) -> Any:
        def again(run_id: str) -> Any:
            return self.get(client, run_id)

        def cancel(run_id: str) -> Any:
            return self.cancel(client, run_id)

        return follow(client, item, self.teller(item), again, cancel=cancel if cancels else None)

    def begun(self, client: Any, item: Any, output: str, *, watch: bool) -> int:
        """Followed if ``watch``, and printed; the exit code."""
        if watch:
            item = self.followed(client, item, cancels=True)
        emit(item, output, lambda: self.show(item))
        return exit_code(item) if watch else 0


def add_commands(group: click.Group, kind: Measuring) -> None:
    """``list``, ``watch`` and ``cancel``."""
    noun = kind.noun
    run_id = click.argument("run_id", metavar=f"{noun.upper()}_ID")

    @group.command("list", help=f"List {noun}s of a deployment, the newest first.")
    @click.argument("endpoint")
    @click.argument("deployment")
    @output_option
    def list_(endpoint: str, deployment: str, output: str) -> None:
        from shoal.client import Client

        with Client() as client:
            items = list(kind.every(client, endpoint, deployment))
        columns = {
            "ID": lambda item: item["id"],
            "STATE": lambda item: item["state"],
            **kind.columns,
            "STARTED": lambda item: moment(item["created_at"]),
        }
        none = f"No {noun} yet: shoal {group.name} start {endpoint} {deployment}"
        emit(items, output, lambda: print_rows(items, columns, none))

    @group.command(
        help=f"Follow a {noun} to its end; exit code 1 unless it succeeds. "
        "Ctrl-C leaves it running."
    )
    @run_id
    @output_option
    def watch(run_id: str, output: str) -> int:
        from shoal.client import Client

        with Client() as client:
            item = kind.followed(client, kind.get(client, run_id), cancels=False)
        emit(item, output, lambda: kind.show(item))
        return exit_code(item)

    @group.command(help=f"End a {noun}; what was measured until then is kept.")
    @run_id
    @output_option
    def cancel(run_id: str, output: str) -> None:
        from shoal.client import Client

        with Client() as client:
            item = kind.cancel(client, run_id)
        emit(item, output, lambda: kind.show(item))

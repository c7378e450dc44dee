"""The commands' help reads well at 80 columns, and docs/cli.md says the same."""

from pathlib import Path

import click
import pytest

from shoal import __version__
from shoal.cli.main import cli, main
from shoal.cli.reference import WIDTH, help_of, walk, written

DOCS = Path(__file__).parents[3] / "docs" / "cli.md"
COMMANDS = list(walk(cli, ("shoal",)))


def test_the_reference_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == written(DOCS), "run `make cli-docs`"


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS]
)
def test_help_fits_and_says_what_the_command_does(
    path: tuple[str, ...], command: click.Command
) -> None:
    text = help_of(path, command)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert command.help and command.help.split("\n")[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_SHOAL_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "command"),
    [(path, command) for path, command in COMMANDS if isinstance(command, click.Group)],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_no_command_is_described_in_half_a_sentence(
    path: tuple[str, ...], command: click.Group
) -> None:
    # why two less: that much click leaves free on a terminal
    listed = help_of(path, command, WIDTH - 2).partition("Commands:")[2].splitlines()
    assert [line for line in listed if line.rstrip().endswith("...")] == []


def test_the_version_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"shoal {__version__}\n"

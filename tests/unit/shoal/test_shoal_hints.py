"""Hints: of the installation they are about REST, in a terminal about commands."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import controlplane
import controlplane.config.urls  # loads every view, and with it every class of errors
from controlplane.core.errors import DomainError
from shoal.cli.hints import COMMANDS, as_command
from shoal.cli.main import cli, main
from tests.support.shoal_server import FakeServer, problem

REST = re.compile(r"/api/v1|\b(GET|POST|PUT|PATCH|DELETE) [./]|\?\w+=|\.\.\./")
# Of requests that no command sends: uploads by hand, browsers, waiting, the studio's own.
NOT_MET = re.compile(r"uploads|session|tokens`|test-cases|drafts|\?q=|\?wait=|\?\{name\}=")
ROOT = Path(controlplane.__file__).parent


def kinds(kind: type[DomainError] = DomainError) -> Iterator[type[DomainError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def written() -> Iterator[str]:
    """Every text below a ``hints=`` in the sources."""
    for source in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "hints":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def hints() -> list[str]:
    found = {hint for kind in kinds() for hint in kind.tries} | set(written())
    return sorted(hint for hint in found if REST.search(hint) and not NOT_MET.search(hint))


@pytest.mark.parametrize("hint", hints())
def test_no_hint_in_a_terminal_is_about_rest(hint: str) -> None:
    assert not REST.search(as_command(hint)), as_command(hint)


@pytest.mark.parametrize("command", [command for _, command in COMMANDS])
def test_the_commands_of_hints_are_there(command: str) -> None:
    quoted = re.search(r"`shoal ([a-z -]+)", command)
    if quoted is None or "COMMAND" in command:
        return
    here: click.Command = cli
    for word in quoted[1].split():
        if not isinstance(here, click.Group):
            options = [option for parameter in here.params for option in parameter.opts]
            assert not word.startswith("--") or word in options
            continue
        here = here.commands[word]


def test_a_refusal_is_shown_with_commands(
    installed: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for hint in (
        "`GET /api/v1/endpoints` lists those that there are.",
        "Wait for it, cancel it, or send the same with `?supersede=true` (`--supersede`).",
    ):
        installed.fail_next(
            "GET /endpoints/net", lambda _, hint=hint: problem(409, "X", "No", hints=[hint])
        )
        assert main(["online-endpoint", "show", "-n", "net"]) == 1
    err = capsys.readouterr().err
    assert "- `shoal endpoint list` lists those that there are." in err
    assert "- Wait for it, cancel it, or send the same with `--supersede`." in err


def test_no_file_is_blamed_where_there_was_none(
    installed: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["online-endpoint", "create", "-n", "e_1"]) == 1
    err = capsys.readouterr().err
    assert "The endpoint is not valid" in err
    assert "file" not in err

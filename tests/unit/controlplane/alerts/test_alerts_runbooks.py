"""Every rule has its runbook, which says what the rule says, and names commands that there are."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from controlplane.alerts.rules import RULES, Rule
from shoal.cli.main import cli

ROOT = Path(__file__).parents[4]
PAGES = sorted((ROOT / "docs" / "runbooks").glob("*.md"))
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)


def said(page: Path) -> str:
    """Its words, without where links lead and lines end."""
    return " ".join(LINK.sub(r"\1", page.read_text()).split())


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_has_a_runbook_that_says_the_same(rule: Rule) -> None:
    assert rule.runbook == f"docs/runbooks/{rule.name}.md"
    text = said(ROOT / rule.runbook)
    limit = f" Threshold: {rule.threshold:g} {rule.unit}." if rule.unit else ""
    times = f"fires after {rule.for_s} s, is resolved after {rule.clear_s} s."
    assert text.startswith(f"# {rule.title} `{rule.name}`, a rule")
    assert f"{rule.about}{limit} `{rule.severity}`, {times}" in text
    assert rule.steps
    for number, step in enumerate(rule.steps, 1):
        assert f"{number}. {step}" in text


def commands(text: str) -> Iterator[str]:
    """Between backticks, and the lines of blocks."""
    for block in BLOCK.findall(text):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))


def parsed(line: str) -> None:
    """Raises click.UsageError for a command, an option or an argument that there is not. One that
    is only named, without anything behind it, must be there."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = cli
    # why one within the other: what a command is first asked with, it keeps, -h among it
    context = click.Context(cli, info_name="shoal", **cli.context_settings)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None:
            raise click.UsageError(f"there is no {words[0]} in {line}")
        context = click.Context(found, info_name=words[0], parent=context)
        command, words = found, words[1:]
    if words:
        command.make_context(line, words, parent=context.parent)


TEXTS = {page.name: page.read_text() for page in PAGES} | {
    rule.name: "\n".join(rule.steps) for rule in RULES.values()
}


@pytest.mark.parametrize("name", TEXTS)
def test_commands_of_runbooks_are_there(name: str) -> None:
    for line in commands(TEXTS[name]):
        if line.startswith("shoal "):
            parsed(line)


@pytest.mark.parametrize(
    "line",
    ["shoal traffic-set", "shoal online-deployment undo", "shoal logs a b", "shoal node show -x n"],
)
def test_a_command_that_is_not_there_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        parsed(line)

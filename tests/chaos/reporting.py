"""How tests that count requests report: one line per case, all of them at the end of the run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.table import Case, Table

TABLE = pytest.StashKey[Table]()
CASE = pytest.StashKey[Case]()


def named(request: pytest.FixtureRequest) -> str:
    """What a test's row is called: the first line of its docstring."""
    text = (request.function.__doc__ or request.node.name).strip().splitlines()[0]
    return str(text.rstrip("."))


def keep(request: pytest.FixtureRequest, case: Case) -> None:
    """This test's row."""
    request.node.stash[CASE] = case


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Iterator[None]:
    report = yield
    case = item.stash.get(CASE, None)
    if case is not None and (report.when == "call" or report.outcome != "passed"):
        why = ""
        if call.excinfo is not None:
            why = str(call.excinfo.value).strip().splitlines()[0][:160]
        verdict = {"passed": "ok", "failed": "FAILED", "skipped": "not here"}[report.outcome]
        item.config.stash[TABLE].add(case, verdict, why)
    return report


def summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config, *, title: str, variable: str
) -> None:
    """Print the table under a title, and into the file that a variable of the environment names."""
    lines = config.stash[TABLE].lines()
    if len(lines) == 1:
        return
    terminalreporter.section(title)
    for line in lines:
        terminalreporter.write_line(line)
    if target := os.environ.get(variable):
        Path(target).write_text("\n".join(lines) + "\n")

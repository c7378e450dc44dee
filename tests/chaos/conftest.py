"""One running product for the session, and the table of what was done to it."""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.system import System
from tests.chaos.table import Case, Table

TABLE = pytest.StashKey[Table]()
CASE = pytest.StashKey[Case]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLE] = Table()
    logging.getLogger("httpx").setLevel(logging.WARNING)  # thousands of lines, all alike


@pytest.fixture(scope="session")
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """The product with its own node, and two more nodes: n1 and n2."""
    running = System(tmp_path_factory.mktemp("chaos"))
    try:
        running.start()
        running.add_node("n1")
        running.add_node("n2")
        yield running
    finally:
        if request.session.testsfailed:
            sys.stderr.write(running.product.last_words())
            for node in running.nodes.values():
                sys.stderr.write(f"== {node.name}\n{node.log[-3000:]}\n")
        running.stop()


@pytest.fixture
def pair(system: System) -> dict[str, str]:
    """Labels that only n1 and n2 have; both run."""
    for name in ("n1", "n2"):
        node = system.nodes[name]
        node.reunite()
        if node.process is None or node.process.poll() is not None:
            node.start()
        system.online(name)
        system.studio.http.post(f"/nodes/{name}/uncordon")
    return system.label("pair", "n1", "n2")


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """The row of this test; its name is the first line of the test's docstring."""
    text = (request.function.__doc__ or request.node.name).strip().splitlines()[0]
    found = Case(text.rstrip("."))
    request.node.stash[CASE] = found
    return found


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


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    lines = config.stash[TABLE].lines()
    if len(lines) == 1:
        return
    terminalreporter.section("chaos")
    for line in lines:
        terminalreporter.write_line(line)
    if target := os.environ.get("CHAOS_TABLE"):
        Path(target).write_text("\n".join(lines) + "\n")

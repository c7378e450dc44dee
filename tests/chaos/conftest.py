"""One running product for the session, and the table of what was done to it."""

import logging
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.reporting import TABLE, keep, named, pytest_runtest_makereport, summary
from tests.chaos.system import System
from tests.chaos.table import Case, Table

__all__ = ["pytest_runtest_makereport"]  # of the report, a hook of pytest here


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
    """The row of this test."""
    found = Case(named(request))
    keep(request, found)
    return found


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    summary(terminalreporter, config, title="chaos", variable="CHAOS_TABLE")

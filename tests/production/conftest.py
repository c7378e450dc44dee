"""One cluster for the session, and the table of what was done to it."""

import logging
import os
import sys
from collections.abc import Iterator

import pytest

from tests.chaos.reporting import TABLE, keep, named, pytest_runtest_makereport, summary
from tests.chaos.table import Table
from tests.production.calls import COLUMNS, CallsCase
from tests.production.installed import THIS, Installed, Stage
from tests.production.network import INSIDE, Network

__all__ = ["pytest_runtest_makereport"]  # of the report, a hook of pytest here


def pytest_configure(config: pytest.Config) -> None:
    if INSIDE not in os.environ:
        raise pytest.UsageError("these tests need networks of their own: run `make prod-test`")
    config.stash[TABLE] = Table(COLUMNS)
    for talker in ("httpx", "pgserver"):  # thousands of lines, all alike
        logging.getLogger(talker).setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return Network(tmp_path_factory.mktemp("network") / "hosts")


@pytest.fixture(scope="session")
def stage(
    request: pytest.FixtureRequest, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """The one installation that runs; an empty stage at first."""
    found = Stage(tmp_path_factory.getbasetemp(), network)
    yield found
    if request.session.testsfailed:
        sys.stderr.write(f"{found.last_words()}\n== all of it: {found.folder}\n")
    found.clear()


@pytest.fixture
def installed(stage: Stage) -> Installed:
    """Everything of this version, ready."""
    return stage.of(THIS)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> CallsCase:
    """The row of this test."""
    found = CallsCase(named(request))
    keep(request, found)
    return found


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    summary(terminalreporter, config, title="production", variable="PROD_TEST_TABLE")

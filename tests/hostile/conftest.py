"""One server for the session, a polite client beside it, and the table of what it withstood."""

from collections.abc import Iterator

import pytest

from tests.hostile.ground import MIB, Ground, Row, lines
from tests.support.builtin_models import IDENTITY, parameter, place
from tests.support.runtime_process import Runtime, runtime

ROWS = pytest.StashKey[list[Row]]()
# Short times, so that clients who take theirs are seen; bounds below what a server may grow by.
FLAGS = (
    "--head-timeout-secs=2", "--body-timeout-secs=2", "--unread-timeout-secs=2",
    "--max-connections=300", f"--max-buffered-bytes={32 * MIB}",
    f"--max-buffered-bytes-per-connection={24 * MIB}",
    f"--http-max-input-size={16 * MIB}", f"--grpc-max-inflated-size={16 * MIB}",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ROWS] = []


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("hostile") / "models"
    place(root, "echo", IDENTITY)
    place(root, "slow", IDENTITY + parameter("execute_delay_ms", "3000"))
    with runtime(root, *FLAGS) as found:
        yield found


@pytest.fixture(scope="session")
def ground(server: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    found = Ground(server, tmp_path_factory.mktemp("polite"))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    found = Row(request.node.callspec.id if hasattr(request.node, "callspec") else "")
    request.config.stash[ROWS].append(found)
    return found


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash[ROWS]
    if rows:
        terminalreporter.section("what attacks cost")
        for line in lines(sorted(rows, key=lambda row: row.attack)):
            terminalreporter.write_line(line)

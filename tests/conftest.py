"""What holds for every test: marks, a reaper, time limits, and databases to be dropped."""

import gc
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest import runner
from django.db import connections
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from tests.support import quiet_parsing, reaper, roomy_stack, seeded_rows
from tests.support.database_use import uses_database

HERE = Path(__file__).parent
# Tests run beside one another, and OpenMP's threads spin while they wait for each other: trees and
# small networks took half as long again. Who tests numbers of threads sets them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
LONGEST_S = 1300  # of a journey through the whole product: an example may take twenty minutes
REAPER = pytest.StashKey[subprocess.Popen[bytes] | None]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REAPER] = reaper.start()
    quiet_parsing.install()


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not look through it again and again.

    It did for two fifths of the collecting, and for a seventh of the tests of the control plane.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


# A busy machine is slow, which says nothing about an example.
settings.register_profile("shoal", deadline=None)
settings.load_profile("shoal")


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Each test, with its fixtures, in one piece of Python's stack; see `roomy_stack`."""
    return roomy_stack.call(runner.pytest_runtest_protocol, item, nextitem)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-database", action="store_true", help="leave out tests that can use no database"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--only-database"):
        config.hook.pytest_deselected(items=[item for item in items if not uses_database(item)])
        items[:] = [item for item in items if uses_database(item)]
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in {"integration", "conformance", "load", "hostile"}:
            item.add_marker(pytest.mark.integration)
        elif folder in {"e2e", "chaos"}:
            item.add_marker(getattr(pytest.mark, folder))
            item.add_marker(pytest.mark.timeout(LONGEST_S))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Lets PostgreSQL drop the test databases although threads of async tests hold connections.

    Brings back, between transactional tests, the rows that migrations made.
    """
    seeded_rows.come_back()
    yield
    with django_db_blocker.unblock():
        for connection in connections.all():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )

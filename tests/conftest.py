"""What holds for every test: marks by folder, patience, and databases that can be dropped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from hypothesis import settings
from pytest_django import DjangoDbBlocker

HERE = Path(__file__).parent

# A busy machine is slow, which says nothing about an example.
settings.register_profile("shoal", deadline=None)
settings.load_profile("shoal")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in {"integration", "conformance", "load"}:
            item.add_marker(pytest.mark.integration)
        elif folder in {"e2e", "chaos"}:
            item.add_marker(getattr(pytest.mark, folder))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Lets PostgreSQL drop the test databases although threads of async tests hold connections."""
    yield
    with django_db_blocker.unblock():
        for connection in connections.all():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )

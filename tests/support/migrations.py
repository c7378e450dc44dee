"""The database as an older version of Shoal left it, and on to the newest. Both ways are real."""

from collections.abc import Callable, Iterator

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

Migrate = Callable[[str, str], Apps]


def _migrate(app: str, name: str) -> Apps:
    """Brings ``app`` to the migration ``name``; returns the models as they were there."""
    executor = MigrationExecutor(connection)
    executor.migrate([(app, name)])
    return executor.loader.project_state([(app, name)]).apps


@pytest.fixture
def migrate(transactional_db: None) -> Iterator[Migrate]:
    """Whatever a test does, the next one finds the newest schema."""
    del transactional_db
    yield _migrate
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())

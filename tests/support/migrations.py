"""The database as an older version of Shoal left it, and on to the newest. Both ways are real."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.apps.registry import Apps
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

Migrate = Callable[[str, str], Apps]


class OldFiles(MigrationLoader):
    """Step by step: without the squashed migrations, as code from before them went."""

    def load_disk(self) -> None:
        super().load_disk()
        steps = {key: found for key, found in self.disk_migrations.items() if not found.replaces}
        self.disk_migrations = steps


def step_by_step(database: BaseDatabaseWrapper | None = None) -> MigrationExecutor:
    executor = MigrationExecutor(database or connection)
    executor.loader = OldFiles(executor.connection)
    return executor


def migrated(targets: list[tuple[str, str | None]]) -> Any:
    """The models as they are there."""
    return models_at(step_by_step(), targets)


def models_at(executor: MigrationExecutor, targets: list[tuple[str, str | None]]) -> Any:
    """Migrates. What the executor returns is not the state of apps that went back apart."""
    executor.migrate(targets)
    loader = OldFiles(executor.connection)
    return loader.project_state(
        [key for key in loader.applied_migrations if key in loader.graph.nodes]
    ).apps


def newest() -> Any:
    """Every migration that the database lacks; the models of now, as migrations tell them."""
    return migrated(step_by_step().loader.graph.leaf_nodes())


def _migrate(app: str, name: str) -> Apps:
    """Brings ``app`` to the migration ``name``; returns the models as they were there."""
    return migrated([(app, name)])


@pytest.fixture
def migrate(transactional_db: None) -> Iterator[Migrate]:
    """Whatever a test does, the next one finds the newest schema."""
    del transactional_db
    yield _migrate
    newest()


@contextmanager
def empty_database(alias: str, folder: Path) -> Iterator[BaseDatabaseWrapper]:
    """A database of its own, without a table, in place of the tests'."""
    usual = connections[alias]
    name = f"empty_{uuid4().hex}"
    if usual.vendor == "postgresql":
        with usual._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
    else:
        name = str(folder / f"{name}.db")
    # why no pool: that of an alias leads to the usual one
    options = {key: value for key, value in usual.settings_dict["OPTIONS"].items() if key != "pool"}
    own = {**usual.settings_dict, "NAME": name, "OPTIONS": options}
    connections[alias] = type(usual)(own, alias)
    try:
        yield connections[alias]
    finally:
        connections[alias].close()
        connections[alias] = usual
        if usual.vendor == "postgresql":
            with usual._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE {name}")

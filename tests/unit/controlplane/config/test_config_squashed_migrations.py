"""New installations take the squashed migrations, those that are there go on: both end the same."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from controlplane.core.models import AuditHead
from controlplane.deployments.models import InstanceType
from tests.support.migrations import OldFiles, empty_database, step_by_step
from tests.support.schemas import schema

BOTH = ("default", "metrics")
SEEDED = (
    "name", "aliases", "description", "gpu_count", "gpu_policy", "gpu_model", "gpu_memory_bytes",
    "cpu_count", "memory_bytes", "node_labels",
)  # fmt: skip

pytestmark = pytest.mark.django_db(transaction=True, databases=BOTH)


@pytest.mark.parametrize("alias", BOTH)
def test_the_squashed_migrations_make_what_the_old_ones_made(alias: str, tmp_path: Path) -> None:
    found = []
    for executor_of in (MigrationExecutor, step_by_step):
        with empty_database(alias, tmp_path) as database:
            executor = executor_of(database)
            executor.migrate(executor.loader.graph.leaf_nodes())
            applied = executor.recorder.applied_migrations().keys()
            assert applied >= executor.loader.disk_migrations.keys()
            rows: list[Any] = []
            if alias == "default":
                rows = [
                    list(InstanceType.objects.order_by("name").values(*SEEDED)),
                    list(AuditHead.objects.values()),
                ]
            found.append((schema(database), rows))
    (squashed, its_rows), (old, old_rows) = found
    assert len(old) > 30
    assert squashed == old
    assert its_rows == old_rows


def test_both_ways_end_in_the_same_models() -> None:
    squashed = MigrationLoader(connections["default"]).project_state()
    old = OldFiles(None).project_state()
    for before, after in ((squashed, old), (old, squashed)):
        assert MigrationAutodetector(before, after)._detect_changes() == {}


def test_from_wherever_a_home_stopped_it_takes_each_step_once(tmp_path: Path) -> None:
    """A start may have been cut off between any two migrations, by code of any age."""
    with empty_database("default", tmp_path) as database:
        old = step_by_step(database)
        steps = [step for step, _ in old.migration_plan(old.loader.graph.leaf_nodes())]
        # where it stood as long as deployments.0017 waited for it
        operations = next(step for step in steps if step.app_label == "operations")
        steps.remove(operations)
        names = [(step.app_label, step.name) for step in steps]
        steps.insert(names.index(("deployments", "0017_operations_leave")), operations)
        recorder = MigrationRecorder(database)
        recorder.ensure_schema()
        applied: set[tuple[str, str]] = set()
        for step in steps:
            recorder.record_applied(step.app_label, step.name)
            applied.add((step.app_label, step.name))
            executor = MigrationExecutor(database)
            executor.loader.check_consistent_history(database)
            rest = [
                key
                for ahead, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())
                for key in (ahead.replaces or [(ahead.app_label, ahead.name)])
            ]
            assert len(rest) == len(set(rest))
            assert applied.isdisjoint(rest)
            assert applied.union(rest) == {(each.app_label, each.name) for each in steps}

"""A home that older code made goes on with the squashed migrations, and keeps what is in it."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, InstanceType, Replica
from controlplane.metrics.models import NodeSample
from controlplane.operations.models import Operation
from controlplane.registry.models import Draft, ModelVersion
from tests.support.deployment_rows import deployment_add
from tests.support.migrations import OldFiles, empty_database, models_at, step_by_step
from tests.support.registered_models import model_register
from tests.support.schemas import schema

BOTH = ("default", "metrics")
Targets = list[tuple[str, str | None]]
# Homes that were made by code from before: of the first day, and of the day before rooms changed.
FIRST: Targets = [
    (app, "0001_initial")
    for app in ("accounts", "core", "deployments", "gateway", "metrics", "nodes", "registry")
]
DRAFTS_APART: Targets = [
    ("accounts", "0005_sign_in_lanes"),
    ("console", "0001_saved_cases"),
    ("core", "0004_event_macs_and_anchors"),
    ("deployments", "0016_left_out"),
    ("gateway", "0003_certificates"),
    ("metrics", "0002_history"),
    ("nodes", "0004_certificates"),
    ("registry", "0007_signatures"),
    ("system", "0001_initial"),
]
DJANGOS: Targets = [
    ("auth", "0012_alter_user_first_name_max_length"),
    ("contenttypes", "0002_remove_content_type_name"),
    ("sessions", "0001_initial"),
]
FILE = {"path": "net/config.pbtxt", "size": 3, "sha256": "a" * 64}

pytestmark = pytest.mark.django_db(transaction=True, databases=BOTH)


def newest_schema(alias: str, folder: Path) -> list[tuple[str, ...]]:
    """As a new installation gets it."""
    with empty_database(alias, folder) as database:
        call_command("migrate", database=alias, verbosity=0)
        return schema(database)


def fill(apps: Any) -> None:
    """What somebody keeps, as the tables were."""

    def rows(app: str, model: str) -> Any:
        return apps.get_model(app, model).objects

    now = timezone.now()
    ada = rows("accounts", "User").create(username="ada", role="admin")
    rows("core", "Event").create(actor="ada", verb="made", subject="model/net", message="")
    version = rows("registry", "ModelVersion").create(
        model=rows("registry", "Model").create(name="net", latest_version=1),
        version=1, digest="d", manifest=[FILE], size=3, created_by="ada",
    )  # fmt: skip
    rows("registry", "Upload").create(
        id="u", filename="net", size=3, created_by=ada, expires_at=now
    )
    node = rows("nodes", "Node").create(id="n", name="n", credential_hash="")
    endpoint = rows("deployments", "Endpoint").create(name="digits", created_by="ada")
    blue = rows("deployments", "Deployment").create(
        endpoint=endpoint, name="blue", model_version=version, environment={"TZ": "UTC"}
    )
    rows("deployments", "Replica").create(id="r", deployment=blue, ordinal=0, node=node)
    rows("deployments", "EndpointKey").create(endpoint=endpoint, slot="primary", sha256="k")
    rows("deployments", "Operation").create(
        id="o", kind="deploy", endpoint="digits", deadline_at=now, created_by="ada"
    )


def drafts_apart() -> None:
    """The table as the app of drafts made it, and its migration on record."""
    database = connections["default"]
    registry = OldFiles(None).project_state(("registry", "0008_drafts")).apps
    draft = registry.get_model("registry", "Draft")
    with database.schema_editor() as editor:
        editor.create_model(draft)
    MigrationRecorder(database).record_applied("drafts", "0001_initial")
    owner = registry.get_model("accounts", "User").objects.get()
    draft.objects.create(id="d", title="net", owner=owner)


@pytest.mark.parametrize("age", [FIRST, DRAFTS_APART])
def test_a_home_of_older_code_goes_on_without_loss(age: Targets, tmp_path: Path) -> None:
    newest = {alias: newest_schema(alias, tmp_path) for alias in BOTH}
    with (
        empty_database("metrics", tmp_path) as samples,
        empty_database("default", tmp_path) as main,
    ):
        metrics = models_at(step_by_step(samples), [*DJANGOS, *age])
        metrics.get_model("metrics", "NodeSample").objects.using("metrics").create(
            node_id="n", at=1.0, data={}
        )
        fill(models_at(step_by_step(main), [*DJANGOS, *age]))
        if age == DRAFTS_APART:
            drafts_apart()

        upgrade()

        assert {"default": schema(main), "metrics": schema(samples)} == newest
        assert NodeSample.objects.get().node_id == "n"
        version = ModelVersion.objects.get()
        assert (version.model.name, version.manifest()) == ("net", [FILE])
        replica = Replica.objects.get()
        assert replica.revision == Deployment.objects.get().revision
        assert replica.revision.settings.environment == {"TZ": "UTC"}
        assert (Operation.objects.get().pk, Endpoint.objects.get().keys.get().sha256) == ("o", "k")
        assert [draft.pk for draft in Draft.objects.all()] == ["d"] * (age == DRAFTS_APART)
        assert InstanceType.objects.count() == 5
        assert Event.objects.get().actor == "ada"


def test_a_home_of_the_day_before_has_nothing_left_to_do(tmp_path: Path) -> None:
    with (
        empty_database("metrics", tmp_path) as samples,
        empty_database("default", tmp_path) as main,
    ):
        for database in (samples, main):
            old = step_by_step(database)
            old.migrate(old.loader.graph.leaf_nodes())
        with transaction.atomic():
            endpoint = Endpoint.objects.create(name="digits", created_by="ada")
            deployment_add(endpoint, model_register())
        before = {alias: schema(connections[alias]) for alias in BOTH}
        assert not MigrationExecutor(main).migration_plan(
            MigrationExecutor(main).loader.graph.leaf_nodes()
        )

        upgrade()

        assert {alias: schema(connections[alias]) for alias in BOTH} == before
        assert Deployment.objects.get().endpoint == endpoint
        squashed = MigrationExecutor(main).loader.replacements
        assert squashed.keys() <= MigrationRecorder(main).applied_migrations().keys()


def upgrade() -> None:
    """As a start of the product does; then nothing is left."""
    for alias in BOTH:
        call_command("migrate", database=alias, interactive=False, verbosity=0)
        call_command("migrate", database=alias, check_unapplied=True, verbosity=0)

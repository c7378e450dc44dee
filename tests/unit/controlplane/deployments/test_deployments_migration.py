"""A database whose deployments repeat what their revisions keep goes on with it, and back."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models import RestrictedError
from rest_framework.test import APIClient

from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, Replica
from controlplane.deployments.spec import RunSettings
from tests.support.deployment_rows import deployment_add
from tests.support.migrations import migrated, newest
from tests.support.registered_models import model_register

OLD: list[tuple[str, str | None]] = [("deployments", "0017_operations_leave")]
REPEATING: list[tuple[str, str | None]] = [("deployments", "0019_columns_leave")]
PROBE = {
    "initial_delay": 0, "period": 1, "timeout": 1, "success_threshold": 2, "failure_threshold": 3
}  # fmt: skip
FIRST: dict[str, Any] = {"environment": {"TZ": "UTC"}, "max_queue_wait_ms": 250}
SECOND: dict[str, Any] = {
    "environment": {"TZ": "CET"},
    "node_labels": {"zone": "a"},
    "anti_affinity": "required",
    "readiness_probe": PROBE,
    "secrets": {"APP_TOKEN": "sealed"},
    "allow_code": ["python"],
}
PLAIN = {name: value for name, value in SECOND.items() if name not in ("secrets", "allow_code")}


@pytest.fixture
def upgraded(transactional_db: None) -> Iterator[None]:
    """Whatever the test leaves, the tables are of now again."""
    yield
    newest()


def models_of(apps: Any) -> dict[str, Any]:
    """Managers by model, as the tables are there."""
    places = {
        "deployments": ("Endpoint", "InstanceType", "Deployment", "DeploymentRevision", "Replica"),
        "registry": ("Model", "ModelVersion", "ConfigRevision"),
        "nodes": ("Node",),
    }
    return {name: apps.get_model(app, name).objects for app in places for name in places[app]}


@pytest.mark.django_db(transaction=True)
def test_revisions_keep_what_they_had_and_every_deployment_has_one(
    upgraded: None, admin_api: APIClient
) -> None:
    before = migrated(OLD)
    deployments = before.get_model("deployments", "Deployment").objects
    endpoint = before.get_model("deployments", "Endpoint").objects.create(
        name="digits", created_by="ada"
    )
    version = before.get_model("registry", "ModelVersion").objects.create(
        model=before.get_model("registry", "Model").objects.create(name="digits"),
        version=1, size=1, file_count=0, digest="sha256:5",
    )  # fmt: skip
    shared = {"model_version": version}
    blue = deployments.create(endpoint=endpoint, name="blue", **shared, **SECOND)
    rows = before.get_model("deployments", "DeploymentRevision").objects
    told = {"deployment": blue, "author": "ada", "succeeded": True, **shared}
    rows.create(number=1, cause="created", **told, **FIRST)
    blue.revision = rows.create(number=2, cause="updated", **told, **SECOND)
    blue.save()
    # of before there were revisions
    old = deployments.create(endpoint=endpoint, name="green", **shared, **FIRST)
    node = before.get_model("nodes", "Node").objects.create(id="n", name="n", credential_hash="")
    before.get_model("deployments", "Replica").objects.create(
        id="r", deployment=old, ordinal=0, node=node
    )

    newest()

    now = {row.name: row for row in Deployment.objects.all()}
    assert now["blue"].revision.settings == RunSettings(**PLAIN)
    assert now["green"].revision.settings == RunSettings(**FIRST)
    replica = Replica.objects.get()
    assert replica.revision == now["green"].revision
    assert (replica.revision.cause, replica.revision.succeeded) == ("as found", True)
    place = "/api/v1/endpoints/digits/deployments/blue"
    second, first = admin_api.get(f"{place}/revisions").json()["items"]
    assert {name: first[name] for name in FIRST} == FIRST
    assert {name: second[name] for name in PLAIN} == PLAIN
    assert (first["number"], first["cause"], first["digest"]) == (1, "created", "sha256:5")
    assert (second["secret_environment"], second["current"]) == (["APP_TOKEN"], True)
    assert admin_api.get(place).json()["environment"] == {"TZ": "CET"}

    back = migrated(OLD)

    for kind in ("Deployment", "DeploymentRevision"):
        names = {"Deployment": {"name": "blue"}, "DeploymentRevision": {"number": 2}}[kind]
        row = back.get_model("deployments", kind).objects.get(**names)
        assert {name: getattr(row, name) for name in SECOND} == SECOND
    assert back.get_model("deployments", "Deployment").objects.get(name="green").environment == {
        "TZ": "UTC"
    }


@pytest.mark.django_db(transaction=True)
def test_what_deployments_repeated_is_read_from_their_revisions(
    upgraded: None, admin_api: APIClient
) -> None:
    rows = models_of(migrated(REPEATING))
    version = rows["ModelVersion"].create(
        model=rows["Model"].create(name="digits"),
        version=1,
        size=1,
        file_count=0,
        digest="sha256:5",
    )
    repeated: dict[str, Any] = {
        "model_version": version,
        "config_revision": rows["ConfigRevision"].create(
            model_version=version, number=3, configs={}
        ),
        "instance_type": rows["InstanceType"].create(name="mine"),
        "secrets": {"APP_TOKEN": "sealed"},
        "allow_code": ["python"],
    }
    endpoint = rows["Endpoint"].create(name="digits", created_by="ada")
    blue = rows["Deployment"].create(endpoint=endpoint, name="blue", **repeated)
    said = {"deployment": blue, "author": "ada"}
    rows["DeploymentRevision"].create(number=1, cause="created", model_version=version, **said)
    blue.revision = rows["DeploymentRevision"].create(number=2, cause="updated", **said, **repeated)
    blue.save()
    node = rows["Node"].create(id="n", name="n", credential_hash="")
    rows["Replica"].create(id="r", deployment=blue, ordinal=0, node=node)

    newest()

    replica = Replica.objects.get()
    assert (replica.revision.number, replica.revision) == (2, replica.deployment.revision)
    shown = admin_api.get("/api/v1/endpoints/digits/deployments/blue").json()
    names = ("model", "version", "config_revision", "instance_type", "secret_environment")
    assert [shown[name] for name in names] == ["digits", 1, 3, "mine", ["APP_TOKEN"]]

    row = models_of(migrated(REPEATING))["Deployment"].get()

    for name, value in repeated.items():
        assert getattr(row, name) == value or getattr(row, name).pk == value.pk, name


@pytest.mark.django_db(transaction=True)
def test_the_database_commits_no_deployment_without_a_revision() -> None:
    endpoint = Endpoint.objects.create(name="digits", created_by="ada")
    with pytest.raises(IntegrityError):
        Deployment.objects.create(endpoint=endpoint, name="blue", revision_id=0)
    blue = deployment_add(endpoint, model_register())
    with pytest.raises(RestrictedError):
        blue.revision.delete()
    with pytest.raises(IntegrityError):
        Deployment.objects.filter(pk=blue.pk).update(revision=None)
    blue.delete()
    assert not DeploymentRevision.objects.exists()

"""A database from before operations had an app of their own keeps its operations."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.operations.models import Operation
from controlplane.operations.services import operation_cancel
from controlplane.operations.types import OperationState
from tests.support.migrations import migrated, newest

BEFORE: list[tuple[str, str | None]] = [("deployments", "0016_left_out"), ("operations", None)]
KEPT = {
    "id": "0" * 32,
    "kind": "deploy",
    "endpoint": "digits",
    "deployment": "blue",
    "state": "Running",
    "stages": [
        {
            "name": "validate", "title": "Validate", "status": "running", "started_at": None,
            "ended_at": None, "detail": "", "progress": None,
        }
    ],
    "parameters": {"traffic": 100, "instance_count": 1},
    "revision": 3,
    "created_by": "anna",
}  # fmt: skip


@pytest.fixture
def before(transactional_db: None) -> Iterator[Any]:
    yield migrated(BEFORE)
    newest()


@pytest.mark.django_db(transaction=True)
def test_operations_are_still_there_after_the_upgrade(before: Any, admin_api: APIClient) -> None:
    version = before.get_model("registry", "ModelVersion").objects.create(
        model=before.get_model("registry", "Model").objects.create(name="digits"),
        version=1,
        size=1,
        file_count=0,
    )
    endpoint = before.get_model("deployments", "Endpoint").objects.create(
        name="digits", created_by="anna"
    )
    before.get_model("deployments", "Deployment").objects.create(
        endpoint=endpoint, name="blue", model_version=version
    )
    now = timezone.now()
    before.get_model("deployments", "Operation").objects.create(
        **KEPT, deadline_at=now + timedelta(hours=1)
    )

    after = newest()

    with pytest.raises(LookupError):
        after.get_model("deployments", "Operation")
    kept = Operation.objects.get()
    assert {name: getattr(kept, name) for name in KEPT} == KEPT
    # what refers to it by name finds it: its endpoint, its deployment, and who watches it
    shown = admin_api.get("/api/v1/endpoints/digits").json()
    assert [row["operation"] for row in shown["deployments"]] == [kept.id]
    assert admin_api.get(f"/api/v1/operations/{kept.id}").json()["state"] == "Running"
    # and it goes on: states are written, and told
    operation_cancel(operation_id=kept.id, actor="anna", now=now)
    kept.refresh_from_db()
    assert kept.state == OperationState.CANCELED
    assert Event.objects.filter(verb="operation.canceled", subject="endpoint/digits").exists()

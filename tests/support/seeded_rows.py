"""Rows that migrations make, and that a transactional test takes away with all others at its end.

Django runs such tests last for that reason. Side by side nobody is last.
"""

import importlib
from typing import Any

from django.apps import apps
from django.db.models.signals import post_migrate

from controlplane.core import audit


def come_back() -> None:
    """From now on a flushed database has them again."""
    post_migrate.connect(_seed, sender=apps.get_app_config("deployments"), weak=False)


def _seed(*, using: str, **_: Any) -> None:
    if using == "default" and not apps.get_model("deployments", "InstanceType").objects.exists():
        importlib.import_module(
            "controlplane.deployments.migrations.0001_squashed_0022_revision_required"
        ).add(apps, None)
    if using == "default":
        apps.get_model("accounts", "Project").everything.get_or_create(
            name="default", defaults={"created_by": "system"}
        )
    if using == "default" and not apps.get_model("core", "AuditHead").objects.exists():
        audit.begin()

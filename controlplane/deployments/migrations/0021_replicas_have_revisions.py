"""Every replica has a revision; going back, deployments repeat what theirs keep."""

from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery

REPEATED = ("model_version_id", "config_revision_id", "instance_type_id", "secrets", "allow_code")


def point(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    deployments = apps.get_model("deployments", "Deployment").objects
    current = deployments.filter(pk=OuterRef("deployment")).values("revision")
    replicas = apps.get_model("deployments", "Replica").objects
    replicas.filter(revision=None).update(revision=Subquery(current))


def repeat(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    deployments = apps.get_model("deployments", "Deployment").objects
    for row in deployments.select_related("revision"):
        kept = {name: getattr(row.revision, name) for name in REPEATED}
        deployments.filter(pk=row.pk).update(**kept)


class Migration(migrations.Migration):

    dependencies = [
        ('deployments', '0020_model_version_optional'),
    ]

    operations = [
        migrations.RunPython(point, repeat),
    ]

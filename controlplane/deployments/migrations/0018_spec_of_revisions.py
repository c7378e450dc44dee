"""What replicas run with stands in one column of the revision, which every deployment has."""

from typing import Any

from django.db import migrations, models
from django.db.models import Max

KEPT = (
    "node_labels", "anti_affinity", "liveness_probe", "readiness_probe", "environment",
    "max_queue_wait_ms",
)  # fmt: skip
SHARED = ("model_version_id", "config_revision_id", "instance_type_id", "secrets", "allow_code")


def gather(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    Deployment = apps.get_model("deployments", "Deployment")
    Revision = apps.get_model("deployments", "DeploymentRevision")
    Replica = apps.get_model("deployments", "Replica")
    for row in Deployment.objects.filter(revision=None):
        last = Revision.objects.filter(deployment=row).aggregate(last=Max("number"))["last"] or 0
        row.revision = Revision.objects.create(
            deployment=row,
            number=last + 1,
            author="system",
            cause="as found",
            succeeded=True,
            **{name: getattr(row, name) for name in (*SHARED, *KEPT)},
        )
        row.save(update_fields=["revision"])
        Replica.objects.filter(deployment=row, revision=None).update(revision=row.revision)
    for revision in Revision.objects.all():
        Revision.objects.filter(pk=revision.pk).update(
            spec={name: getattr(revision, name) for name in KEPT}
        )


def spread(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    Deployment = apps.get_model("deployments", "Deployment")
    Revision = apps.get_model("deployments", "DeploymentRevision")
    for revision in Revision.objects.all():
        kept = {name: revision.spec[name] for name in KEPT if name in revision.spec}
        if kept:
            Revision.objects.filter(pk=revision.pk).update(**kept)
            Deployment.objects.filter(revision=revision).update(**kept)


class Migration(migrations.Migration):

    dependencies = [
        ('deployments', '0017_operations_leave'),
    ]

    operations = [
        migrations.AddField(
            model_name='deploymentrevision',
            name='spec',
            field=models.JSONField(default=dict),
        ),
        migrations.RunPython(gather, spread),
    ]

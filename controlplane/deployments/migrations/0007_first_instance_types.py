"""Instance types to begin with; and revisions remember the labels that their deployments asked for."""

import importlib

from django.db import migrations

first = importlib.import_module(
    "controlplane.deployments.migrations.0001_squashed_0022_revision_required"
)


def add(apps, schema_editor):
    first.add(apps, schema_editor)
    for revision in apps.get_model("deployments", "DeploymentRevision").objects.select_related(
        "deployment"
    ):
        revision.node_labels = revision.deployment.node_labels
        revision.save(update_fields=["node_labels"])


class Migration(migrations.Migration):
    dependencies = [("deployments", "0006_instance_types")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]

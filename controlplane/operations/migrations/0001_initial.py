from django.db import migrations, models


class Migration(migrations.Migration):
    # The table is the one that deployments.0001 made; only the app that it belongs to is another.
    dependencies = [("deployments", "0016_left_out")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Operation",
                    fields=[
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                        ("id", models.CharField(max_length=32, primary_key=True, serialize=False)),
                        ("kind", models.CharField(max_length=32)),
                        ("endpoint", models.CharField(db_index=True, max_length=64)),
                        ("deployment", models.CharField(blank=True, max_length=64)),
                        ("state", models.CharField(choices=[("Queued", "Queued"), ("Running", "Running"), ("Succeeded", "Succeeded"), ("Failed", "Failed"), ("Canceled", "Canceled")], default="Queued", max_length=16)),
                        ("stages", models.JSONField(default=list)),
                        ("parameters", models.JSONField(default=dict)),
                        ("result", models.JSONField(blank=True, null=True)),
                        ("error", models.JSONField(blank=True, null=True)),
                        ("revision", models.BigIntegerField(default=0)),
                        ("deadline_at", models.DateTimeField()),
                        ("cancel_requested", models.BooleanField(default=False)),
                        ("created_by", models.CharField(max_length=150)),
                        ("finished_at", models.DateTimeField(blank=True, null=True)),
                    ],
                    options={"db_table": "deployments_operation", "ordering": ["-created_at"]},
                ),
            ],
        ),
    ]

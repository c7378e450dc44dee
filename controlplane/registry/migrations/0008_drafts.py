"""Drafts join the registry. Their table stays where it is, with its rows and its name."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

TABLE = "drafts_draft"


def make_table(apps: Any, schema_editor: Any) -> None:
    """In an installation that never had the app of drafts, as in every new one."""
    with schema_editor.connection.cursor() as cursor:
        known = schema_editor.connection.introspection.table_names(cursor)
    if TABLE not in known:
        schema_editor.create_model(apps.get_model("registry", "Draft"))


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0007_signatures"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Draft",
                    fields=[
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                        (
                            "id",
                            models.CharField(max_length=32, primary_key=True, serialize=False),
                        ),
                        ("title", models.CharField(blank=True, max_length=255)),
                        ("upload_id", models.CharField(blank=True, max_length=32)),
                        ("data", models.JSONField(default=dict)),
                        ("revision", models.PositiveIntegerField(default=1)),
                        (
                            "owner",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="drafts",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={"db_table": TABLE},
                ),
            ],
        ),
        migrations.RunPython(make_table, migrations.RunPython.noop),
    ]

from typing import Any

from django.db import migrations

NAME = "roll_up_by_prefix"


def made(apps: Any, schema_editor: Any) -> None:
    """PostgreSQL finds texts by how they begin only with an index that compares by bytes. SQLite
    would not use it. Nobody waits for it: the table may be large, and samples are being rolled up.
    """
    if schema_editor.connection.vendor == "postgresql":
        dropped(apps, schema_editor)  # what was cut off is there, and is no index that is used
        schema_editor.execute(
            f"CREATE INDEX CONCURRENTLY {NAME} ON metrics_rollup (scope varchar_pattern_ops)"
        )


def dropped(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}")


class Migration(migrations.Migration):
    atomic = False  # else it could not be made beside others' work
    dependencies = [("metrics", "0002_history")]

    operations = [migrations.RunPython(made, dropped)]

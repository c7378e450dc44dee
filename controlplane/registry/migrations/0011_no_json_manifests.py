"""The JSON that 0010 made rows of goes away."""

from django.db import migrations


class Migration(migrations.Migration):
    # why apart from 0010: PostgreSQL alters no table with changes that wait for a check
    dependencies = [("registry", "0010_manifests_to_rows")]

    operations = [
        migrations.RemoveField(model_name="modelversion", name="manifest"),
        migrations.RemoveField(model_name="upload", name="manifest"),
        migrations.RemoveField(model_name="upload", name="files"),
    ]

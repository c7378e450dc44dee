from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operations", "0001_initial")]

    operations = [
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(fields=["-created_at"], name="operation_newest"),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                fields=["endpoint", "deployment", "-created_at"], name="operation_latest"
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", True)),
                fields=["created_at"],
                name="operation_active",
            ),
        ),
    ]

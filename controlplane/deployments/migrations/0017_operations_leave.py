from django.db import migrations


class Migration(migrations.Migration):
    # The rows stay where they are: operations.0001 has taken the table over.
    dependencies = [("deployments", "0016_left_out"), ("operations", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Operation")],
        ),
    ]

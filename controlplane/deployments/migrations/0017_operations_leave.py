from django.db import migrations


class Migration(migrations.Migration):
    # The rows stay where they are: operations.0001 takes the table over. Not a dependency: with
    # that of operations.0001 on 0016 it would be a ring once both stand in one squashed migration.
    dependencies = [("deployments", "0016_left_out")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Operation")],
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    # why: going back, the column is there before 0021 has filled it

    dependencies = [
        ('deployments', '0019_columns_leave'),
    ]

    operations = [
        migrations.AlterField(
            model_name='deployment',
            name='model_version',
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to='registry.modelversion',
            ),
        ),
    ]

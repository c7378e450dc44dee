from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('deployments', '0030_traffic_change'),
    ]

    operations = [
        migrations.AddField(
            model_name='replica',
            name='held_out',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]

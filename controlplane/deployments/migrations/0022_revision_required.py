import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    # why apart from 0021: PostgreSQL alters no table that has rows to check yet

    dependencies = [
        ('deployments', '0021_replicas_have_revisions'),
    ]

    operations = [
        migrations.AlterField(
            model_name='deployment',
            name='revision',
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name='current_of',
                to='deployments.deploymentrevision',
            ),
        ),
        migrations.AlterField(
            model_name='replica',
            name='revision',
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name='+',
                to='deployments.deploymentrevision',
            ),
        ),
        migrations.AlterField(
            model_name='deploymentrevision',
            name='instance_type',
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name='deployment_revisions',
                to='deployments.instancetype',
            ),
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='model_version',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='config_revision',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='instance_type',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='secrets',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='allow_code',
        ),
    ]

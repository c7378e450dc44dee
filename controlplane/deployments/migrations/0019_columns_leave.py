from django.db import migrations


class Migration(migrations.Migration):
    # why apart from 0018: PostgreSQL alters no table that has rows to check yet

    dependencies = [
        ('deployments', '0018_spec_of_revisions'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='deployment',
            name='node_labels',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='anti_affinity',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='liveness_probe',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='readiness_probe',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='environment',
        ),
        migrations.RemoveField(
            model_name='deployment',
            name='max_queue_wait_ms',
        ),
        migrations.RemoveField(
            model_name='deploymentrevision',
            name='node_labels',
        ),
        migrations.RemoveField(
            model_name='deploymentrevision',
            name='anti_affinity',
        ),
        migrations.RemoveField(
            model_name='deploymentrevision',
            name='liveness_probe',
        ),
        migrations.RemoveField(
            model_name='deploymentrevision',
            name='readiness_probe',
        ),
        migrations.RemoveField(
            model_name='deploymentrevision',
            name='environment',
        ),
        migrations.RemoveField(
            model_name='deploymentrevision',
            name='max_queue_wait_ms',
        ),
    ]

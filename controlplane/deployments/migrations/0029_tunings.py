import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('deployments', '0028_load_sweeps'),
        ('nodes', '0005_disk_order'),
    ]

    operations = [
        migrations.CreateModel(
            name='Tuning',
            fields=[
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('id', models.CharField(max_length=16, primary_key=True, serialize=False)),
                ('model', models.CharField(max_length=255)),
                ('node_name', models.CharField(max_length=100)),
                ('gpus', models.JSONField(blank=True, null=True)),
                ('plan', models.JSONField()),
                ('case', models.CharField(blank=True, max_length=100)),
                ('space', models.JSONField()),
                ('budget', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('Queued', 'Queued'), ('Running', 'Running'), ('Succeeded', 'Succeeded'), ('Failed', 'Failed'), ('Canceled', 'Canceled')], default='Queued', max_length=16)),
                ('step', models.PositiveIntegerField(default=0)),
                ('current', models.JSONField(blank=True, null=True)),
                ('runs', models.JSONField(default=list)),
                ('applied', models.PositiveIntegerField(blank=True, null=True)),
                ('error', models.JSONField(blank=True, null=True)),
                ('deadline_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.CharField(max_length=150)),
                ('deployment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tunings', to='deployments.deployment')),
                ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='nodes.node')),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='deployments.deploymentrevision')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['Queued', 'Running'])), fields=('node',), name='one_tuning_at_a_time_on_a_node')],
            },
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_sign_in_lanes'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='signinlane',
            name='one_lane',
        ),
        migrations.RenameModel(
            old_name='SignInLane',
            new_name='SignInCounter',
        ),
        migrations.AddConstraint(
            model_name='signincounter',
            constraint=models.UniqueConstraint(fields=('name', 'network'), name='one_counter'),
        ),
    ]

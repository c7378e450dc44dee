from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_header_sign_in'),
    ]

    operations = [
        migrations.AlterField(
            model_name='user',
            name='sign_in',
            field=models.CharField(choices=[('password', 'password'), ('break_glass', 'break-glass password'), ('oidc', 'single sign-on'), ('header', "the proxy's header"), ('service', 'token')], db_default='password', default='password', max_length=16),
        ),
    ]

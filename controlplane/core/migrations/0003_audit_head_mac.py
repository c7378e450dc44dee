"""The end of the chain gets a keyed hash of its own; that of an existing log is made here."""

import hashlib
import hmac
from typing import Any

from django.db import migrations, models

from controlplane.core import vault


def mac_of(link: int, digest: str) -> str:
    """As it was until 0004."""
    key = vault.derived("shoal audit head")
    return hmac.new(key, f"{link} {digest}".encode(), hashlib.sha256).hexdigest()


def hold(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    for head in apps.get_model("core", "AuditHead").objects.all():
        head.mac = mac_of(head.link, head.digest)
        head.save(update_fields=["mac"])


class Migration(migrations.Migration):
    dependencies = [("core", "0002_audit_chain")]

    operations = [
        migrations.AddField(
            model_name="audithead",
            name="mac",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.RunPython(hold, migrations.RunPython.noop),
    ]

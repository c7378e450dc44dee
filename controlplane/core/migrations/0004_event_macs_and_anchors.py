"""Events get a keyed hash as they are written. Those from before are sealed here, once, and the end of
the chain says up to which link they go."""

import importlib
from typing import Any

import django.utils.timezone
from django.db import migrations, models

from controlplane.core import seals

START = "0" * 64
BATCH = 500


def begin(apps: Any, schema_editor: Any) -> None:
    del schema_editor
    Event, Head = apps.get_model("core", "Event"), apps.get_model("core", "AuditHead")
    old_mac = importlib.import_module("controlplane.core.migrations.0003_audit_head_mac").mac_of
    head = Head.objects.filter(pk=1).first()
    if head is None:
        if Event.objects.exclude(link=None).exists():
            return  # somebody removed it: the next sealing says so
        head = Head(pk=1, digest=START)
    elif not seals.same(head.mac, old_mac(head.link, head.digest)):
        return  # somebody changed it: likewise
    while rows := list(Event.objects.filter(link=None).order_by("seq")[:BATCH]):
        for event in rows:
            head.link += 1
            head.digest = seals.digest_of(head.digest, head.link, event)
            event.link, event.digest = head.link, head.digest
        Event.objects.bulk_update(rows, ["link", "digest"])
    head.boundary = head.link
    head.mac = seals.head_mac(head)
    head.save()


class Migration(migrations.Migration):
    dependencies = [("core", "0003_audit_head_mac")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="mac",
            field=models.CharField(blank=True, default="", max_length=80),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="event",
            name="at",
            field=models.DateTimeField(
                db_index=True, default=django.utils.timezone.now, editable=False
            ),
        ),
        migrations.AddField(
            model_name="audithead", name="boundary", field=models.BigIntegerField(default=0)
        ),
        migrations.AddField(
            model_name="audithead", name="anchored", field=models.BigIntegerField(default=0)
        ),
        migrations.AddField(
            model_name="audithead",
            name="anchored_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]

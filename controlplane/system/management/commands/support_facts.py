"""``manage.py support_facts``: what `GET /system/support` answers, where no web process does."""

import json
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from controlplane.system.support import support_facts


class Command(BaseCommand):
    help = "Print versions, settings without secrets, tables and migrations as JSON."
    requires_system_checks = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.stdout.write(json.dumps(support_facts(timezone.now()), indent=1))

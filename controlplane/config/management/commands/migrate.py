"""Django's ``migrate``, whose statements may take as long as they do; waits for locks may not."""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from controlplane.config import postgres


class Command(migrate.Command):
    def handle(self, *arguments: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if connection.vendor != "postgresql":
            super().handle(*arguments, **options)
            return
        with postgres.unbounded(connection):
            super().handle(*arguments, **options)

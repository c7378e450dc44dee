"""Django's ``migrate``, whose statements may take as long as they do; waits for locks may not.

Each migration is one transaction, so one that found a table in use has done nothing, and is tried
again once others have passed.
"""

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
        handle = super().handle
        with postgres.for_migrations(connection):
            postgres.patiently(
                lambda: handle(*arguments, **options),
                lambda text: self.stderr.write(f"\n{text}"),
            )

"""``manage.py audit verify`` and ``manage.py audit export``: the event log as evidence."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.core import audit

FORMATS = {"csv": audit.export_csv, "ndjson": audit.export_ndjson}


class Command(BaseCommand):
    help = "Check the chain over the event log, or write the log out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("verify", help="walk the chain; the exit code is 1 when it is broken")
        export = verbs.add_parser("export", help="write every event to standard output")
        export.add_argument("--format", choices=sorted(FORMATS), default="ndjson")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        if options["verb"] == "export":
            audit.seal()
            for line in FORMATS[options["format"]](audit.between(None, None)):
                self.stdout.write(line, ending="")
            return
        found = audit.verify()
        if found.broken is not None:
            raise CommandError(f"The event log is broken. {found.broken.reason}")
        self.stdout.write(f"The chain holds: {found.sealed} events, head {found.head}")

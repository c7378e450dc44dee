"""``manage.py audit``: the event log as evidence."""

from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.core import audit, exports
from controlplane.core.errors import DomainError
from controlplane.core.models import Event
from controlplane.events import selectors, services

FORMATS = {"csv": exports.export_csv, "ndjson": exports.export_ndjson}


class Command(BaseCommand):
    help = "Check the chain over the event log, write the log out, or note that it was put back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verify = verbs.add_parser("verify", help="walk the chain; exit code 1 when it is broken")
        verify.add_argument(
            "--anchors", type=Path, help="compare with this copy of the anchors instead of our own"
        )
        export = verbs.add_parser(
            "export", help="write every event of the database to standard output"
        )
        export.add_argument("--format", choices=sorted(FORMATS), default="ndjson")
        export.add_argument("--archive", type=int, help="of this archive, not the database")
        restored = verbs.add_parser("restored", help="note that an older database was put back")
        restored.add_argument("reason", help="which, and why; it becomes an event")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        try:
            self._do(options)
        except DomainError as error:
            raise CommandError(" ".join((error.message, *error.hints))) from error

    def _do(self, options: dict[str, Any]) -> None:
        match options["verb"]:
            case "export":
                audit.seal()
                for line in FORMATS[options["format"]](_events(options["archive"])):
                    self.stdout.write(line, ending="")
            case "restored":
                audit.restored(options["reason"])
                self.stdout.write("Noted in the event log and in the anchors.")
            case _:
                self._verify(options["anchors"])

    def _verify(self, anchors: Path | None) -> None:
        found = services.verify(anchors)
        if (broken := found.broken) is not None:
            raise CommandError(f"The event log is broken ({broken.kind}). {broken.reason}")
        self.stdout.write(
            f"The chain holds: {found.sealed} events, head {found.head}, "
            f"{found.archived} of them in {found.archives} archives, "
            f"{found.anchors} anchors, restored {found.restores} times"
        )


def _events(archive: int | None) -> Iterable[Event]:
    if archive is None:
        return exports.in_order(Event.objects.all())
    return services.archived_events(selectors.event_archive_get(archive), people=True)

"""``shoal audit``: the event log as evidence."""

import sys

import click

from shoal.cli.output import emit, output_option, print_fields, print_rows


@click.group(short_help="Check and write out the event log.")
def audit() -> None:
    """Check that the event log is what it was, and write it out. Needs the role operator."""


@audit.command(short_help="Walk the chain over all events.")
@output_option
def verify(output: str) -> None:
    """Walk the chain over all events; exit code 1 when one was changed, removed or slipped in."""
    from shoal.client import Client

    with Client() as client:
        found = client.verify_audit()
    broken = found["broken"]
    shown = {
        "Chain": "holds" if found["ok"] else "BROKEN",
        "Events": str(found["sealed"]),
        "Head": found["head"],
        "Archives": f"{found['archives']}, with {found['archived']} of these events",
        "Anchors": str(found["anchors"]),
        "Restores": str(found["restores"]),
        **({"Looks like": broken["kind"], "Where": broken["reason"]} if broken else {}),
    }
    emit(found, output, lambda: print_fields(shown))
    if not found["ok"]:
        raise click.exceptions.Exit(1)


@audit.command(short_help="List archives of events that left the database.")
@output_option
def archives(output: str) -> None:
    """List archives of events that left the database, the newest first."""
    from shoal.client import Client

    with Client() as client:
        found = client.list_event_archives()
    columns = {
        "ARCHIVE": lambda one: one["id"],
        "SEQ": lambda one: f"{one['first_seq']} to {one['last_seq']}",
        "EVENTS": lambda one: one["events"],
        "DAYS": lambda one: f"{one['first_at'][:10]} to {one['last_at'][:10]}",
        "BYTES": lambda one: one["size"],
        "EVENTS ARE IN": lambda one: "archive" if one["removed_at"] else "archive, database",
    }
    emit(found, output, lambda: print_rows(found, columns, "No archives of events"))


@audit.command(short_help="Write events to standard output, oldest first.")
@click.option("--format", "kind", type=click.Choice(["ndjson", "csv"]), default="ndjson")
@click.option("--archive", type=int, help="Those of this archive (`shoal audit archives`).")
def export(kind: str, archive: int | None) -> None:
    """Write the events of the database, or of an archive, to standard output, oldest first."""
    from shoal.client import Client

    with Client() as client:
        for piece in client.export_audit(kind, archive):
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()

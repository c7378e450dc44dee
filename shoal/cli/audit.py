"""``shoal audit``: the event log as evidence."""

import sys

import click

from shoal.cli.output import emit, output_option, print_fields


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
        "Anchors": str(found["anchors"]),
        "Restores": str(found["restores"]),
        **({"Looks like": broken["kind"], "Where": broken["reason"]} if broken else {}),
    }
    emit(found, output, lambda: print_fields(shown))
    if not found["ok"]:
        raise click.exceptions.Exit(1)


@audit.command()
@click.option("--format", "kind", type=click.Choice(["ndjson", "csv"]), default="ndjson")
def export(kind: str) -> None:
    """Write every event to standard output, oldest first."""
    from shoal.client import Client

    with Client() as client:
        for piece in client.export_audit(kind):
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()

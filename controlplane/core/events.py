"""The one way to say that something happened: an audit row, a hint to live sockets on commit."""

from collections.abc import Iterable
from typing import Any, Final

from controlplane.core import fanout, seals
from controlplane.core.models import Event

EVENTS_GROUP = "events"
# Who looked at something. They are in the log for whoever asks it, and no news to anybody else.
LOOKS: Final = frozenset(
    {
        "capture.downloaded",
        "endpoint.keys_revealed",
        "events.exported",
        "model.file_downloaded",
    }
)


def record(
    *,
    actor: str,
    verb: str,
    subject: str,
    message: str,
    severity: Event.Severity = Event.Severity.INFO,
    data: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> Event:
    """Append an event in the caller's transaction; sockets hear of it once that commits.

    ``before`` and ``after`` are what a change was about, by field; never secrets.
    """
    told = dict(data or {})
    if before is not None:
        told["before"] = before
    if after is not None:
        told["after"] = after
    event = Event(
        actor=actor,
        verb=verb,
        subject=subject,
        message=message,
        severity=severity,
        data=told,
    )
    record_all([event])
    return event


def record_all(events: Iterable[Event]) -> None:
    """As ``record``, several at once: new ones, whose ``seq`` and ``mac`` are filled in here."""
    rows = list(events)
    if not rows:
        return
    for event in rows:
        event.mac = seals.event_mac(event)
    Event.objects.bulk_create(rows)
    for subject in dict.fromkeys(event.subject for event in rows):
        # A hint only: sockets also look at the table now and then, a lost hint costs a second.
        fanout.send_on_commit(EVENTS_GROUP, {"type": "event.recorded", "subject": subject})
